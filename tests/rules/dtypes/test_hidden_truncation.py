"""float32 leaves that hold values of a narrower type."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.hidden_truncation import hidden_truncation
from tests.builders import checkpoint, judged, leaf


def values(clear, *more):
    narrow = leaf("params/w", shape=(64,), role="parameter", seen={"low_bits_clear": clear})
    return checkpoint(narrow, *more)


MOMENT = leaf("opt_state/0/mu/w", "bfloat16", (64,), role="optimizer")


@pytest.mark.parametrize(("clear", "name"), [(16, "bfloat16"), (13, "float16 or TF32")])
def test_clear_low_bits_are_told(clear, name):
    (finding,) = judged(hidden_truncation, values(clear, MOMENT))

    assert finding.severity is Severity.WARNING
    assert finding.message == f"1 of 1 float32 leaves holds values of {name}, the first is params/w"


def test_without_an_optimizer_it_may_be_an_export():
    (finding,) = judged(hidden_truncation, values(16))

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("clear", [0, 5, None])
def test_values_that_use_their_bits_are_healthy(clear):
    assert not judged(hidden_truncation, values(clear, MOMENT))
