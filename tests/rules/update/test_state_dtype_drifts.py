"""JD501: the state's dtypes."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.signature import Cure, Recorded
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
    assert finding.fix is None
    assert finding.evidence["leaves"] == ["w", "b"]


def test_a_transformation_is_wrapped():
    """Nobody edits optax: the cure is the remedy."""
    drifting = signature(
        leaf("count", "int32", "float32"), rounds=1, results=(leaf("w", "float32", "float32"),)
    )

    (finding,) = hits(state_dtype_drifts, drifting)

    assert "stable_dtypes" in finding.fix


def test_a_cure_that_was_tried_is_told_with_what_came_of_it():
    cure = Cure(text="cast w with .astype(jnp.float32)", tried="tried: settles at once")

    (finding,) = hits(state_dtype_drifts, signature(leaf("w", "float32", "bfloat16", cure=cure), rounds=1))

    assert finding.location.path == "train.py:make"
    assert finding.fix == "cast w with .astype(jnp.float32) (tried: settles at once)"


def test_a_weak_leaf_that_a_scan_takes_on_is_a_warning():
    """As in PureJaxRL's LogEnvState, whose returns begin at a Python 0."""
    weak, strong = leaf("a", "~int32", "float32"), leaf("b", "int32", "float32")

    first, second = hits(state_dtype_drifts, signature(weak, strong, rounds=1))

    assert (first.severity, second.severity) == (Severity.WARNING, Severity.ERROR)
    assert first.message.endswith("; lax.scan accepts it, and jit compiles once more")


def test_a_weak_leaf_that_the_judged_loop_takes_on_is_a_note():
    loop = Recorded(name="body", file="train.py", line=9, kind="loop", calls=1)

    (finding,) = hits(state_dtype_drifts, signature(leaf("a", "~int32", "float32"), rounds=1, call=loop))

    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("; lax.scan accepts it, and compiles nothing for it")


def test_a_leaf_that_drifts_after_another_is_no_finding_of_its_own():
    first = leaf("w", "bfloat16", "float32", sites=(SITE,))
    second = leaf("mu", "bfloat16", "float32", cure=Cure(text="it rests", tried="tried", follows=True))

    (finding,) = hits(state_dtype_drifts, signature(first, second, rounds=2))

    assert finding.message.endswith("return p - LR * g; 1 more drift after it")
    assert finding.evidence["following"] == ["mu"]


def test_what_drifts_cannot_be_donated():
    (finding,) = hits(state_dtype_drifts, signature(leaf("w", "bfloat16", "float32"), rounds=1, donated=True))

    assert finding.message.endswith("; its donated buffer cannot be used again")


def test_a_stable_state_is_healthy():
    assert not hits(
        state_dtype_drifts, signature(leaf("w", "bfloat16", "bfloat16"), leaf("n", "~int32", "int32"))
    )
