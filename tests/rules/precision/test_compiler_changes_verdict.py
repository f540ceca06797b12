"""JD251: the compiler decides."""

from jaxdoctor.facts.outcome import Compiled
from jaxdoctor.rules.precision.compiler_changes_verdict import compiler_changes_verdict
from tests.outcomes import outcome

WITHOUT_FUSION = "--xla_disable_hlo_passes=fusion"


def compiled(*failed):
    runs = (
        Compiled(
            flags=flags,
            failed=count,
            replays=16,
            first_bad_step=12 if count else None,
            first_bad_field="qLD" if count else None,
        )
        for flags, count in zip(("", WITHOUT_FUSION), failed, strict=False)
    )
    return outcome(compiled=tuple(runs))


def test_the_flags_of_both_are_named():
    (finding,) = compiler_changes_verdict.judge(compiled(0, 3))

    assert finding.message == (
        f"3 of 16 replays fail in float32 compiled with {WITHOUT_FUSION}, first qLD at step 12, "
        "and none with default flags"
    )
    assert finding.evidence["failed"] == {"default flags": 0, WITHOUT_FUSION: 3}


def test_alike_and_not_compared_is_healthy():
    assert not list(compiler_changes_verdict.judge(compiled(0, 0)))
    assert not list(compiler_changes_verdict.judge(compiled(4, 3)))
    assert not list(compiler_changes_verdict.judge(outcome()))
