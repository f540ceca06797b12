"""JD122: a warp-lang that MJX was not made with."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.environment.warp_misfit import warp_misfit
from tests.environments import only, software


def beside(installed, pinned="1.18.0", **fields):
    return software(versions={"warp-lang": installed}, warp_pinned=pinned, **fields)


def test_another_version_is_a_note():
    finding = only(warp_misfit, beside("1.19.0"))

    assert finding.fix == "pip install warp-lang==1.18.0"


def test_one_that_breaks_mjx_is_an_error():
    fact = beside("1.11.0", unimportable={"warp": "TypeError: 'function' object is not subscriptable"})

    (finding,) = warp_misfit.judge(fact)

    assert finding.severity is Severity.ERROR
    assert "3.17.0 cannot be imported beside warp-lang 1.11.0: TypeError" in finding.message
    assert finding.fix == "pip install warp-lang==1.18.0"


@pytest.mark.parametrize("fact", [beside("1.18.0"), beside(None), beside("1.19.0", pinned=None), software()])
def test_the_named_one_and_none_are_healthy(fact):
    assert not list(warp_misfit.judge(fact))
