"""A drone on a line for `jaxdoctor probe --env hover.py:make_env`: an environment as Brax has them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

CEILING = 10.0
"""Metres at which an episode ends."""


class State(NamedTuple):
    """Height and speed, and what a training loop reads."""

    height: jax.Array
    speed: jax.Array
    obs: jax.Array
    reward: jax.Array
    done: jax.Array


class Hover:
    """It is pushed up by its action and pulled down by gravity, and should stay at 1 m."""

    action_size = 1
    dt = 0.05
    """Seconds of one step."""

    def reset(self, key):
        """Near the ground, at rest."""
        height = jax.random.uniform(key, maxval=0.5)
        return self.seen(height, jnp.zeros_like(height))

    def step(self, state, action):
        """One step of Euler's rule."""
        speed = state.speed + self.dt * (20 * action[0] - 9.81)
        return self.seen(state.height + self.dt * speed, speed)

    def seen(self, height, speed):
        """The state with its observation, reward and end."""
        reward = -jnp.square(height - 1)
        return State(height, speed, jnp.stack([height, speed]), reward, jnp.abs(height) > CEILING)


def make_env():
    """The environment."""
    return Hover()
