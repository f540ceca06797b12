"""Environments whose step begins a new episode by itself, and those that only look alike."""

import pytest

from jaxdoctor.rollouts.environments import make
from jaxdoctor.rollouts.own_resets import resets_itself
from jaxdoctor.rollouts.sources.environment import environment_named
from tests.steppable import CODE

MORE = '''

class BeginsInBranch(Begins):
    def begun(self, done, fresh, after):
        return jax.lax.cond(done, lambda: fresh, lambda: after)


class BeginsAtZero(Begins):
    def begun(self, done, fresh, after):
        return {"place": jnp.where(done, 0.0, after["place"]), "steps": after["steps"]}


class Stays(Begins):
    def begun(self, done, fresh, after):
        return after


class Holds(Begins):
    def step(self, key, state, action):
        _, after, reward, done, more = super().step(key, state, action)
        after = jax.tree.map(lambda old, new: jnp.where(done, old, new), state, after)
        return after["place"][None], after, reward, done, more

    def begun(self, done, fresh, after):
        return after


class Walled(Begins):
    """A wall that has nothing to do with the end."""

    def begun(self, done, fresh, after):
        return {**after, "place": jnp.where(after["place"] > 2, 2.0, after["place"])}


class PointBegins(Point):
    """As Brax, with the first state kept where no wrapper of Brax's keeps it."""

    def reset(self, key):
        state = super().reset(key)
        return state._replace(info={**state.info, "begin": state.data}, done=0.0)

    def step(self, state, action):
        after = super().step(state, action)
        done = jnp.where(after.done, 1.0, 0.0)
        data = jnp.where(done > 0.5, state.info["begin"], after.data)
        return after._replace(data=data, done=done, info={**after.info, "begin": state.info["begin"]})
'''


@pytest.fixture
def made(tmp_path):
    (tmp_path / "train.py").write_text(CODE + MORE)
    return lambda name: make(environment_named(f"{tmp_path}/train.py:{name}"))


@pytest.mark.parametrize("name", ["Begins", "BeginsInBranch", "BeginsAtZero", "PointBegins"])
def test_a_new_episode_where_done_is_seen(made, name):
    assert resets_itself(made(name))


@pytest.mark.parametrize("name", ["Stays", "Holds", "Walled", "Point", "Blind", "Masked", "Fallen", "choice"])
def test_what_goes_on_holds_or_breaks_does_not_reset(made, name):
    assert not resets_itself(made(name))
