"""Which arguments name an environment."""

import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rollouts.sources.environment import environment_named, written


@pytest.mark.parametrize(
    "text",
    [
        "brax:ant",
        "brax:ant,backend=spring",
        "playground:CheetahRun,impl=jax",
        "train:make_env",
        "train:make_env,actions=drawn",
        "brax:ant,backend=mjx,actions=likeliest",
    ],
)
def test_what_is_written_is_read_again(text):
    named = environment_named(text, policy="runs/my policy/12", network="train:make_network")

    assert named.shown == text
    assert find_source(written(named)).load(written(named)) == named
    assert find_source(written(named)).system == "environment"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("ant", "'ant' names no environment", "brax:ant"),
        ("brax:", "'brax:' names no environment", "brax:NAME"),
        ("brax:ant,backend=physx", "no backend named 'physx'", "generalized"),
        (
            "playground:CheetahRun,backend=mjx",
            "no option of playground: environments named 'backend'",
            "impl",
        ),
        ("train.py:make_env,impl=jax", "a function takes no options", "in the function"),
    ],
)
def test_what_cannot_be_meant_is_told(text, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        environment_named(text)

    assert hint in caught.value.hint


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(UsageError, match=r"there is no file nothere\.py"):
        find_source(written(environment_named("nothere.py:make_env")))


@pytest.mark.parametrize(
    ("text", "draws"),
    [("brax:ant", False), ("m:env,actions=likeliest", False), ("m:env,actions=drawn", True)],
)
def test_whether_actions_are_drawn_is_said_with_the_environment(text, draws):
    assert environment_named(text).draws is draws
