"""JD511: loops and conditions that JAX refuses."""

from dataclasses import replace

from jaxdoctor.facts.signature import Cure, InnerDrift
from jaxdoctor.rules.update.inner_types_differ import inner_types_differ
from tests.signatures import SITE, hits, leaf, signature

CALL = replace(SITE, line=12, primitive="scan")
CURE = Cure(text="at train.py:4, cast the result", tried="tried: the update is traced to its end")


def test_a_loop_is_told_at_the_line_that_promotes():
    carry = leaf("h", "bfloat16", "float32", sites=(SITE,), cure=CURE)

    (finding,) = hits(inner_types_differ, signature(inner=(InnerDrift(kind="scan", call=CALL, leaf=carry),)))

    assert (finding.location.path, finding.location.line) == ("train.py", 4)
    assert finding.message == (
        "the scan at train.py:12 takes h as bfloat16[] and returns it as float32[], "
        "where a float32[] operand promotes it: return p - LR * g"
    )
    assert finding.fix == "at train.py:4, cast the result (tried: the update is traced to its end)"


def test_a_branch_without_a_line_of_its_own_is_told_at_the_call():
    result = leaf("", "bfloat16", "float32")

    (finding,) = hits(inner_types_differ, signature(inner=(InnerDrift(kind="cond", call=CALL, leaf=result),)))

    assert finding.location.line == 12
    assert finding.message == "a branch of the cond at train.py:12 gives float32[], not bfloat16[]"


def test_an_update_that_jax_takes_is_healthy():
    assert not hits(inner_types_differ, signature(leaf("w", "float32", "float32")))
