"""JD202 on outcomes."""

import pytest

from jaxdoctor.rules.precision.thin_margin import thin_margin
from tests.outcomes import outcome


@pytest.mark.parametrize("required", [8, 9, 10])
def test_two_bits_to_spare_or_fewer_are_thin(required):
    (finding,) = thin_margin.judge(outcome(required=required))

    assert finding.message.endswith(f"delivers 10: {10 - required} to spare")


def test_three_bits_to_spare_are_enough():
    assert not list(thin_margin.judge(outcome(required=7)))


def test_a_rollout_that_fails_has_no_margin_to_speak_of():
    assert not list(thin_margin.judge(outcome(16)))


def test_a_device_that_did_better_than_the_emulation_is_no_comfort():
    """Native replays decide, and the emulation still says that it was luck."""
    (finding,) = thin_margin.judge(outcome(required=12))

    assert "no replay failed on rtx-4090, but emulated ones below 12 bits do" in finding.message
