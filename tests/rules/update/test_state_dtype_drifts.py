"""JD501: the state's dtypes."""

from jaxdoctor.rules.update.state_dtype_drifts import state_dtype_drifts
from tests.signatures import SITE, hits, leaf, signature


def test_leaves_that_change_for_one_reason_are_one_finding_at_its_line():
    drifting = [leaf(name, "bfloat16", "float32", sites=(SITE,)) for name in ("w", "b")]

    (finding,) = hits(state_dtype_drifts, signature(*drifting, rounds=1))

    assert (finding.code, finding.location.path, finding.location.line) == ("JD501", "train.py", 4)
    assert finding.message == (
        "w and 1 more go in as bfloat16[] and come out as float32[], "
        "where a float32[] operand promotes it: return p - LR * g"
    )
    assert finding.fix == "at train.py:4, cast the float32[] operand with .astype(jnp.bfloat16)"
    assert finding.evidence["leaves"] == ["w", "b"]


def test_a_transformation_is_wrapped():
    """Nobody edits optax: the cure is the remedy."""
    drifting = signature(
        leaf("count", "int32", "float32"), rounds=1, results=(leaf("w", "float32", "float32"),)
    )

    (finding,) = hits(state_dtype_drifts, drifting)

    assert "stable_dtypes" in finding.fix


def test_without_a_known_line_the_cast_at_the_end_is_the_cure():
    (finding,) = hits(state_dtype_drifts, signature(leaf("w", "float32", "bfloat16"), rounds=1))

    assert finding.location.path == "train.py:make"
    assert "jax.tree.map(lambda new, old: new.astype(old.dtype)" in finding.fix


def test_a_stable_state_is_healthy():
    assert not hits(
        state_dtype_drifts, signature(leaf("w", "bfloat16", "bfloat16"), leaf("n", "~int32", "int32"))
    )
