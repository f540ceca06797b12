"""JD505: 64 bits out of nothing."""

from dataclasses import replace

from jaxdoctor.rules.update.x64_appears import x64_appears
from tests.signatures import SITE, hits, leaf, signature

PARAMETERS = (leaf("w", "float32", "float32"),)


def test_wide_state_for_narrow_parameters_is_named():
    made = signature(
        leaf("memory", "float64", "float64", shape_in=(10,), shape_out=(10,)), results=PARAMETERS, x64=True
    )

    (finding,) = hits(x64_appears, made)

    assert finding.message == "memory is float64[10] although every parameter is float32 (x64)"


def test_a_line_that_makes_a_float64_is_named():
    site = replace(SITE, dtype_from="float32", dtype_to="float64", partner="float64[]")

    (finding,) = hits(x64_appears, signature(x64=True, wide_sites=(site,)))

    assert (finding.location.path, finding.location.line) == ("train.py", 4)
    assert finding.message.startswith("float32 becomes float64, where a float64[] operand promotes it")


def test_wide_state_for_wide_parameters_is_healthy():
    wide = signature(leaf("mu", "float64", "float64"), results=(leaf("w", "float64", "float64"),), x64=True)

    assert not hits(x64_appears, wide)


def test_a_weak_float64_is_healthy():
    """Under x64 every Python number is one."""
    assert not hits(x64_appears, signature(leaf("lr", "~float64", "~float64"), results=PARAMETERS, x64=True))
