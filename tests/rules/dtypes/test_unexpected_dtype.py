"""What the user expects of a role."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.rules.dtypes.unexpected_dtype import unexpected_dtype
from tests.builders import checkpoint, judged, leaf, series

EXPECTED = {Role.PARAMETER: "float32"}


def test_another_dtype_than_expected_is_told():
    saved = checkpoint(
        leaf("params/w", "float32", (3,), role="parameter"), leaf("params/s", "float64", role="parameter")
    )

    (finding,) = judged(unexpected_dtype, series(saved, dtypes=EXPECTED))

    assert finding.severity is Severity.ERROR
    assert finding.message == "1 of 2 parameter leaves is not float32: params/s is float64"


def test_other_roles_are_left_alone():
    saved = checkpoint(leaf("w", role="parameter"), leaf("opt_state/mu", "bfloat16", role="optimizer"))

    assert not judged(unexpected_dtype, series(saved, dtypes=EXPECTED))
