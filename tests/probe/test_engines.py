"""Which engines one environment is replayed on."""

from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.engines import on_each_engine


def asks(argument):
    return [(one.model, one.subject) for one in on_each_engine(Ask(model=argument, subject="it"))]


def test_playground_runs_on_its_own_default_and_on_mjx():
    assert asks("--env playground:CartpoleBalance --policy runs/12") == [
        (
            f"--env playground:CartpoleBalance,impl={impl} --policy runs/12",
            f"playground:CartpoleBalance,impl={impl}",
        )
        for impl in ("warp", "jax")
    ]


def test_a_named_engine_and_everything_else_is_one():
    for argument in ("--env playground:CartpoleBalance,impl=jax", "--env brax:ant", "scenario:hand"):
        assert asks(argument) == [(argument, "it")]
