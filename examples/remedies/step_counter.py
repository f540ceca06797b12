"""An int32 count of environment steps wraps; a StepCounter goes on, and repairs what has wrapped."""

import jax
import jax.numpy as jnp

from jaxdoctor.remedies import StepCounter

ENVIRONMENTS = 4096


@jax.jit
def step(env_steps):
    """One step of many environments."""
    return env_steps + ENVIRONMENTS


almost = 2**31 - ENVIRONMENTS
wrapped = step(jnp.int32(almost))
print("int32:", int(wrapped))
print("StepCounter:", int(step(StepCounter.of(almost))))
print("repaired:", int(StepCounter.from_wrapped(wrapped, at_least=almost)))
