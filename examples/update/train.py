"""A training step with three faults that no test run of a minute shows.

jaxdoctor check-update examples/update/train.py:ill --calls-per-second 244
jaxdoctor check-update examples/update/train.py:cured --calls-per-second 244
"""

import jax
import jax.numpy as jnp

from jaxdoctor.remedies import StepCounter

ENVIRONMENTS = 4096
RATE = jnp.float32(3e-4)


def loss(params, batch):
    """Of a model in bfloat16."""
    return jnp.mean((batch @ params["w"] + params["b"]) ** 2)


def descend(params, gradients):
    """One step of gradient descent. The float32 rate makes every parameter float32."""
    return params - RATE * gradients


def descend_in_kind(params, gradients):
    """The same, in the parameters' own dtype."""
    return params - RATE.astype(params.dtype) * gradients


def start():
    """The state before the first step."""
    return {
        "params": {"w": jnp.zeros((128, 64), jnp.bfloat16), "b": jnp.zeros(64, jnp.bfloat16)},
        "env_steps": jnp.int32(0),
        "seen": jnp.float32(0),
    }


def ill():
    """The parameters become float32; env_steps wraps after 36 minutes, seen stalls after 19 hours."""

    def update(state, batch):
        gradients = jax.grad(loss)(state["params"], batch)
        return {
            "params": jax.tree.map(descend, state["params"], gradients),
            "env_steps": state["env_steps"] + ENVIRONMENTS,
            "seen": state["seen"] + 1,
        }

    return update, start(), jnp.zeros((32, 128), jnp.bfloat16)


def cured():
    """The same step, without the faults."""

    def update(state, batch):
        gradients = jax.grad(loss)(state["params"], batch)
        return {
            "params": jax.tree.map(descend_in_kind, state["params"], gradients),
            "env_steps": state["env_steps"] + ENVIRONMENTS,
            "seen": state["seen"] + 1,
        }

    counters = {"env_steps": StepCounter.zero(), "seen": StepCounter.zero()}
    return update, start() | counters, jnp.zeros((32, 128), jnp.bfloat16)
