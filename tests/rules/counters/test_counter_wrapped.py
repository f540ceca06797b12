"""Counters that passed the end of their type."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_wrapped import counter_wrapped
from tests.builders import checkpoint, counts, judged, leaf, series

PLAYGROUND = [666894336, 1333788672, 2000683008, -1627389952, -960495616, -293601280, 373293056]
"""https://github.com/google-deepmind/mujoco_playground/issues/48, and on until it is positive again."""


def test_the_run_of_playground_48_is_one_finding():
    (finding,) = judged(counter_wrapped, counts("env_steps", PLAYGROUND))

    assert finding.severity is Severity.ERROR
    assert (
        finding.message
        == "env_steps fell from 2,000,683,008 to -1,627,389,952: it grew by 666,894,336 modulo 2^32"
    )
    assert finding.location.step == 4000


def test_a_fall_from_positive_to_positive_can_be_a_wrap():
    """When the negative checkpoints were deleted, the increment modulo 2^32 still tells."""
    run = counts("env_steps", [1333788672, 2000683008, 373293056])

    (finding,) = judged(counter_wrapped, run)

    assert finding.evidence["grown"] == 2667577344


def test_one_checkpoint_far_below_zero_is_enough():
    (finding,) = judged(counter_wrapped, counts("env_steps", [-1627389952]))

    assert finding.message == "env_steps is -1,627,389,952, which is 2,667,577,344 in int32"


def test_unsigned_counters_wrap_at_two_to_the_32():
    (finding,) = judged(counter_wrapped, counts("step", [4_200_000_000, 5_032_704], "uint32"))

    assert finding.evidence["grown"] == 100_000_000


def test_a_name_beyond_the_end_is_a_witness():
    saved = checkpoint(leaf("step", "int32", role="counter", value=705_032_704), step=5_000_000_000)

    (finding,) = judged(counter_wrapped, series(saved))

    assert finding.evidence["true"] == 5_000_000_000


def test_a_negative_folder_is_told_once():
    """Brax names its folders after env_steps."""
    run = series(checkpoint(step=-1627389952), checkpoint(step=-960495616))

    (finding,) = judged(counter_wrapped, run)

    assert finding.message == "its name tells step -1627389952, which is an int32 that wrapped: 2,667,577,344"


def test_a_nameless_number_near_the_end_is_a_warning():
    """Equinox stores leaves without names."""
    saved = checkpoint(leaf("leaf/3", "int32", role="other", value=-2_000_000_000))

    (finding,) = judged(counter_wrapped, series(saved))

    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "values",
    [
        [1000, 2000, 3000],
        [1000, 2000, 500],
        [2_000_000_000, 1_000_000],
        [-1, -1],
        [2_000_683_008, 2_100_000_000],
    ],
    ids=["growing", "restarted", "restarted late", "sentinel", "near the end"],
)
def test_neighbours_are_healthy(values):
    assert not judged(counter_wrapped, counts("env_steps", values))


def test_a_split_counter_may_have_any_lower_half():
    run = series(
        *(
            checkpoint(
                leaf("env_steps/hi", "uint32", role="counter", value=high),
                leaf("env_steps/lo", "uint32", role="counter", value=low),
                step=step,
            )
            for step, high, low in [(1, 0, 4_000_000_000), (2, 1, 5)]
        )
    )

    assert not judged(counter_wrapped, run)


def test_a_goal_of_minus_two_billion_is_no_counter():
    assert not judged(counter_wrapped, series(checkpoint(leaf("goal", "int32", value=-2_000_000_000))))


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_a_wrap_that_was_widened_is_known(dtype):
    """`int()` of a wrapped int32, or a cast: the sign of a wrap at 2^32 in a type that never wraps there."""
    (finding,) = judged(counter_wrapped, counts("env_steps", [-2_094_967_296], dtype))

    assert finding.evidence["likely"] == 2_200_000_000
    assert finding.message.endswith("the true count is 2,200,000,000")


def test_no_number_beyond_two_to_the_64_is_told():
    (finding,) = judged(counter_wrapped, counts("env_steps", [-3_000_000_000], "int64"))

    assert finding.message == "env_steps is -3,000,000,000, and a count is never below zero"


def test_an_int16_wraps_at_its_own_end():
    (finding,) = judged(counter_wrapped, counts("step", [-30_000], "int16"))

    assert finding.evidence["likely"] == 35_536


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_a_fall_modulo_two_to_the_32_is_known_in_any_width(dtype):
    """Less is left than one step of the run: no restarted count would be so small."""
    (finding,) = judged(counter_wrapped, counts("env_steps", [1_900_000_000, 2_000_000_000, 705_032], dtype))

    assert finding.evidence["grown"] == 2_295_672_328


def test_a_widened_count_is_known_by_its_name():
    saved = checkpoint(
        leaf("step", "int64", role="counter", value=705_032_704, host_scalar=True), step=5_000_000_000
    )

    (finding,) = judged(counter_wrapped, series(saved))

    assert finding.evidence["true"] == 5_000_000_000


def test_a_count_in_64_bits_beyond_32_is_healthy():
    assert not judged(
        counter_wrapped, counts("env_steps", [2_000_000_000, 4_000_000_000, 6_000_000_000], "int64")
    )
