"""A policy that is a function of the user's."""

import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.rollouts.policy import Sizes, build_policy, load_policy, read_policy

POLICIES = """
import jax.numpy as jnp

print("loading")


def policy(observation):
    return -observation[:2]


def inference(observation, key):
    return observation["state"][:2] + key[0], {"log_prob": 0.0}


def make_policy():
    print("made")
    return lambda observation, key: -2 * observation[:2]


def choice(observation):
    return jnp.argmax(observation)


def raises(observation):
    raise ValueError("no weights")


def branches(observation):
    return observation[:2] if observation[0] > 0 else -observation[:2]


number = 3
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """A file of policies."""
    path = tmp_path_factory.mktemp("function") / "policies_of_mine.py"
    path.write_text(POLICIES)
    return str(path)


@pytest.mark.parametrize(
    ("name", "observation", "action"),
    [
        ("policy", jnp.arange(4.0), [0, -1]),
        ("make_policy", jnp.arange(4.0), [0, -2]),
        ("inference", {"state": jnp.arange(4.0)}, [7, 8]),
    ],
)
def test_it_is_called_as_it_is_written(script, capsys, name, observation, action):
    """With a key or without, made by a function of no arguments or not; Brax's extras are left out."""
    size = jax.tree.map(jnp.shape, observation)

    policy = load_policy(f"{script}:{name}", None, size, 2, seed=0)
    act = policy.apply(policy.parameters, observation, jnp.asarray([7, 0], jnp.uint32))

    assert act.action.tolist() == action
    assert (policy.name, policy.statistics) == (f"{script}:{name}", None)
    assert capsys.readouterr().out == ""


def test_one_of_several_choices(script):
    """An integer, for an environment that takes one."""
    sizes = Sizes(observation=4, action=4, discrete=True)

    policy = build_policy(read_policy(f"{script}:choice"), sizes)

    assert policy.apply({}, jnp.asarray([0.0, 3.0, 1.0, 0.0]), None).action == 1


def test_what_cannot_be_replayed_is_told_before(script):
    """With what it raised, and both sizes."""
    cases = {
        "raises": (NothingExaminedError, "raises ValueError: no weights"),
        "branches": (NothingExaminedError, "cannot be traced"),
        "number": (UsageError, "is no network of"),
        "nothing": (UsageError, "no function in"),
    }
    for name, (error, message) in cases.items():
        with pytest.raises(error, match=message):
            load_policy(f"{script}:{name}", None, 4, 2, seed=0)
    with pytest.raises(UsageError, match=r"of the shape \[2\], and the environment takes 8 actions"):
        load_policy(f"{script}:policy", None, 4, 8, seed=0)


def test_nothing_is_run_by_the_command(script):
    """Reading only checks that there is such a file; a second network makes no sense."""
    with pytest.raises(UsageError, match=r"there is no file nowhere\.py"):
        read_policy("nowhere.py:policy")
    with pytest.raises(UsageError, match="is a policy already"):
        read_policy(f"{script}:policy", "train.py:network")
