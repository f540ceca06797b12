"""What a config declares beside what the file holds."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.declared_dtype import declared_dtype
from tests.builders import checkpoint, judged, leaf


def declared(*pairs):
    return checkpoint(
        *(leaf(f"w{index}", actual, (3,), declared_dtype=said) for index, (actual, said) in enumerate(pairs))
    )


def test_another_dtype_than_declared_is_told():
    (finding,) = judged(declared_dtype, declared(*[("float32", "bfloat16")] * 3))

    assert finding.severity is Severity.WARNING
    assert finding.message == "3 of 3 leaves are float32, and bfloat16 is declared"


def test_a_few_wider_leaves_are_a_note():
    """Norms are often kept in float32."""
    (finding,) = judged(declared_dtype, declared(*[("bfloat16", "bfloat16")] * 9, ("float32", "bfloat16")))

    assert finding.severity is Severity.NOTE


def test_what_is_declared_and_held_is_healthy():
    assert not judged(
        declared_dtype, declared(("float32", "float32"), ("int64", "float32"), ("float32", None))
    )
