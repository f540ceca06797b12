"""A step that breaks in one of four environments, recorded without ending the run."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

from jaxdoctor.bundles.read import read
from jaxdoctor.remedies import guard


def step(state, control):
    """A pendulum whose length shrinks, until it is divided by nothing."""
    length = state["length"] - control[0]
    return {"angle": state["angle"] + 0.1 / length, "length": length}


path = Path(tempfile.mkdtemp()) / "failure.zip"
guarded = guard(step, path)


def run(length):
    """Twenty guarded steps."""
    watched = guarded.begin({"angle": jnp.float32(0), "length": length}, jnp.zeros(1))
    controls = jnp.full((20, 1), 0.125)
    return jax.lax.scan(lambda watched, control: (guarded(watched, control), None), watched, controls)[0]


done = jax.jit(jax.vmap(run))(jnp.array([9.0, 1.0, 7.0, 8.0]))
jax.block_until_ready(done)
jax.effects_barrier()
failure = read(path)
print("failed:", failure.failure.field, "at step", failure.failure.step, "in row", failure.failure.replay)
print("lengths before it:", failure.state["length"][-3:].tolist())
print("steps of all rows:", done.memory.step.tolist())
