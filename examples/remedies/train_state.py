"""A flax TrainState whose environment steps are counted in 64 bits, and a schedule of them."""

import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

from jaxdoctor.remedies import StepCounter

ENVIRONMENTS, EVERY = 4096, 1 << 20


class State(TrainState):
    """With a count that outlives 2^31."""

    env_steps: StepCounter


@jax.jit
def update(state):
    """One update, and whether a checkpoint is due after it."""
    state = state.apply_gradients(grads=state.params).replace(env_steps=state.env_steps + ENVIRONMENTS)
    return state, state.env_steps % EVERY == 0


state = State.create(
    apply_fn=None,
    params={"w": jnp.ones(2)},
    tx=optax.sgd(1e-3),
    env_steps=StepCounter.of(2**31 - ENVIRONMENTS),
)
state, due = update(state)
print("environment steps:", f"{state.env_steps:,}")
print("checkpoint due:", bool(due))
