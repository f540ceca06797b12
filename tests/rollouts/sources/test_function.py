"""A function and what belongs to it, as one argument."""

import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rollouts.sources.function import Named, is_function, written


def test_what_is_written_is_read_again(tmp_path):
    (tmp_path / "a b.py").touch()
    named = Named(function="train.loss:fn", args=f"{tmp_path}/a b.py:make", check="train:bad")

    source = find_source(written(named))

    assert source.system == "function"
    assert source.load(written(named)) == named


@pytest.mark.parametrize(
    ("argument", "is_one"),
    [
        ("package.module:fn", True),
        ("train.py:Policy.act", True),
        ("some/where/train.py:act", True),
        ("scenario:hand", False),
        ("robot.xml", False),
        ("C:/robots/robot.xml", False),
        ("spring:3", False),
    ],
)
def test_a_function_is_told_from_a_model(argument, is_one):
    assert is_function(argument) is is_one


@pytest.mark.parametrize("args", ["make_args", "nowhere.py:make", "a module:make"])
def test_a_name_that_names_no_function_is_refused_before_a_worker_starts(args):
    with pytest.raises(UsageError):
        find_source(written(Named(function="m:fn", args=args)))
