"""What a finding's rule asks to be set."""

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.prescription import Means, Prescription
from jaxdoctor.rules.prescribes import enough_bits, flag_off, highest_precision, larger_pool, removal

FOUND = Finding(
    code="JD106",
    name="nan-lost-in-max",
    severity=Severity.WARNING,
    location=Location(),
    message="--xla_gpu_enable_fast_min_max is set",
    evidence={"flag": "xla_gpu_enable_fast_min_max"},
    fix="unset it",
)


@pytest.mark.parametrize(
    ("asks", "setting"),
    [
        (flag_off, (Means.XLA, "xla_gpu_enable_fast_min_max", False, False)),
        (highest_precision, (Means.JAX, "jax_default_matmul_precision", "highest", False)),
        (larger_pool, (Means.ENVIRONMENT, "PJRT_NPROC", "16", True)),
    ],
)
def test_a_setting_carries_the_finding_that_asks_for_it(asks, setting):
    (one,) = asks(FOUND).settings

    assert (one.means, one.key, one.value, one.this_machine) == setting
    assert (one.because, one.reason) == (("JD106",), FOUND.message)


def test_a_removal_says_what_is_wrong_and_what_to_do():
    assert removal(FOUND).removals == ("--xla_gpu_enable_fast_min_max is set: unset it (JD106)",)


def test_how_many_bits_are_enough_only_a_rollout_tells():
    assert enough_bits(FOUND) == Prescription()
