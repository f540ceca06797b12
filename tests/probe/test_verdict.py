"""Required bits and verdicts from what trials did."""

from dataclasses import replace

import pytest

from jaxdoctor.facts.outcome import Growth, RolledInC, StepInC, Verdict
from jaxdoctor.facts.precision import F32, F64, Precision
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.probe.verdict import deciding, required_bits, verdict_of


def trial(failed, *, of=16, bits=23):
    precision = {23: F32, 52: F64}.get(bits) or Precision(name=str(bits), mantissa_bits=bits)
    return Trial(source="m.xml", precision=precision, kind=Kind.EMULATED, replays=of, steps=10, failed=failed)


def widths(failed_below, *, failed=16, full=0, down_to=5):
    """Trials at 23 bits and less, of which those below a width fail."""
    return {
        bits: trial(full if bits >= failed_below else failed, bits=bits)
        for bits in range(23, down_to - 1, -1)
    }


def test_required_bits_are_the_first_width_below_which_replays_fail():
    assert required_bits(widths(13), trial(0, bits=52)) == 13


def test_a_finite_width_below_a_failing_one_does_not_count():
    """The answer holds for all wider ones too."""
    swept = widths(13)
    swept[8] = trial(0, bits=8)

    assert required_bits(swept, None) == 13


def test_a_width_that_was_not_tried_counts_as_its_neighbours_do():
    """Between two that are finite it is finite; between one that is and one that fails it is not counted."""
    swept = widths(5)

    assert required_bits({bits: swept[bits] for bits in (23, 10, 7)}, None) == 7
    assert required_bits({bits: widths(9)[bits] for bits in (23, 14, 8, 5)}, None) == 14


def test_more_than_float32_is_required_where_only_x64_is_finite():
    assert required_bits(widths(5, full=3), trial(0, bits=52)) == 24


def test_chance_is_allowed_for_where_float32_fails_too():
    """One failure in 16 more or less is no difference; 13 more are one."""
    swept = widths(12, full=3) | {15: trial(4, bits=15)}

    assert required_bits(swept, trial(3, bits=52)) == 12


def test_nothing_is_known_without_float32_or_without_x64_where_float32_fails():
    assert required_bits({10: trial(0, bits=10)}, trial(0, bits=52)) is None
    assert required_bits(widths(12, full=3), None) is None


@pytest.mark.parametrize(
    ("delivered", "full", "x64", "verdict"),
    [
        (0, 0, 0, Verdict.HEALTHY),
        (0, 0, None, Verdict.HEALTHY),
        (9, 0, 0, Verdict.PRECISION),
        (9, 0, None, Verdict.PRECISION),
        (9, 9, 0, Verdict.PRECISION),  # only x64 mends it
        (0, 1, 0, Verdict.PRECISION),  # what breaks float32 now and then breaks fewer bits too
        (0, 1, None, Verdict.UNKNOWN),
        (9, 9, 9, Verdict.MODEL),
        (0, 0, 2, Verdict.MODEL),  # finite here by luck
        (16, 2, 2, Verdict.PRECISION),  # some physics, and far more of it precision
        (9, 9, None, Verdict.UNKNOWN),
        (9, None, None, Verdict.UNKNOWN),
        (None, 0, 0, Verdict.UNKNOWN),
        (None, 9, 9, Verdict.MODEL),  # known without the emulation
        (None, None, 9, Verdict.MODEL),
        (None, 16, 2, Verdict.PRECISION),  # float32 alone, and what cards deliver is less
        (None, 9, None, Verdict.UNKNOWN),
    ],
)
def test_verdicts(delivered, full, x64, verdict):
    """Healthy, precision, model and unknown, each for its reason."""
    made = [None if failed is None else trial(failed) for failed in (delivered, full, x64)]

    assert verdict_of(*made) is verdict


def test_who_trains_in_x64_does_not_mind_that_float32_fails():
    at_x64 = trial(0, bits=52)

    assert deciding(at_x64, trial(3)) is at_x64
    assert verdict_of(at_x64, trial(3), at_x64) is Verdict.HEALTHY


def step(number, *, holds):
    return StepInC(step=number, replay=0, holds=holds)


def failing(failed, at, *, bits=23):
    return replace(trial(failed, bits=bits), first_bad_step=at)


@pytest.mark.parametrize(
    ("taken", "verdict"),
    [
        ([step(3, holds=True)], Verdict.ENGINE),
        ([step(3, holds=False)], Verdict.MODEL),
        ([step(3, holds=True), step(40, holds=False)], Verdict.ENGINE),  # the earliest decides
        ([step(3, holds=False), step(40, holds=True)], Verdict.MODEL),
        ([step(3, holds=True), step(3, holds=False)], Verdict.MODEL),
        (None, Verdict.MODEL),  # nothing in C to ask: engine and model cannot be distinguished
    ],
)
def test_engine_and_model_are_told_apart_by_one_step_in_c(taken, verdict):
    made = [failing(2, 3), failing(2, 3), failing(2, 3, bits=52)]

    assert verdict_of(*made, steps_in_c=taken) is verdict


def test_the_verdict_of_several_causes_is_the_earliest_steps():
    """Rounding breaks at step 3 what the physics break at step 90; and the other way round."""
    late, early = [step(90, holds=False)], [step(2, holds=True)]
    x64 = failing(9, 90, bits=52)

    assert verdict_of(failing(9, 3, bits=10), trial(0), x64, steps_in_c=late) is Verdict.PRECISION
    assert verdict_of(failing(9, 80, bits=10), failing(9, 85), x64, steps_in_c=late) is Verdict.MODEL
    engine = failing(1, 2, bits=52)
    assert verdict_of(failing(16, 30, bits=10), trial(0), engine, steps_in_c=early) is Verdict.ENGINE


def test_what_native_float32_and_x64_say_is_an_answer_without_the_emulation():
    """No card gives a float32 product more than float32."""
    taken = [step(3, holds=False)]

    assert verdict_of(None, failing(9, 3), failing(9, 3, bits=52), steps_in_c=taken) is Verdict.MODEL
    assert verdict_of(None, trial(9), trial(0, bits=52)) is Verdict.PRECISION
    assert verdict_of(None, trial(0), trial(0, bits=52)) is Verdict.UNKNOWN
    assert verdict_of(None, trial(9), None) is Verdict.UNKNOWN


GROWS = Growth(growing=1, replays=16, speeds=(1.0, 500.0), energies=(1.0, 9e4))


def test_physics_without_bound_are_not_healthy_though_mjx_keeps_them_finite():
    healthy = [trial(0), trial(0), trial(0, bits=52)]

    assert verdict_of(*healthy, in_c=RolledInC(replays=16)) is Verdict.HEALTHY
    assert verdict_of(*healthy, in_c=RolledInC(replays=16, growth=GROWS)) is Verdict.MODEL
    gone = RolledInC(replays=16, unusable=2, first_unusable_step=60)
    assert verdict_of(*healthy, in_c=gone) is Verdict.MODEL


def test_what_rounding_breaks_before_the_physics_is_precision():
    gone = RolledInC(replays=16, unusable=2, first_unusable_step=60)
    rest = [trial(0), trial(0, bits=52)]

    assert verdict_of(failing(9, 5, bits=10), *rest, in_c=gone) is Verdict.PRECISION
    assert verdict_of(failing(9, 55, bits=10), *rest, in_c=gone) is Verdict.MODEL
    growing = RolledInC(replays=16, growth=GROWS)
    assert verdict_of(failing(9, 5, bits=10), *rest, in_c=growing) is Verdict.PRECISION


def test_what_runs_away_in_c_alone_does_not_break_a_run_in_mjx():
    """Of a servo's damping on a tendon under implicitfast C keeps a part and MJX all."""
    healthy = [trial(0), trial(0), replace(trial(0, bits=52), steps=90)]
    gone = RolledInC(replays=16, unusable=2, first_unusable_step=60)
    growing = RolledInC(replays=16, growth=GROWS)

    assert verdict_of(*healthy, in_c=gone, outgrown=0) is Verdict.HEALTHY
    assert verdict_of(*healthy, in_c=growing, outgrown=0) is Verdict.HEALTHY
    assert verdict_of(*healthy, in_c=gone, outgrown=1) is Verdict.MODEL
    short = [*healthy[:2], replace(healthy[2], steps=50)]
    assert verdict_of(*short, in_c=gone, outgrown=0) is Verdict.MODEL, "MJX was not replayed so far"
