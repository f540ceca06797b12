"""What a probe's outcome asks to be set."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.precision import F32, F64, Precision
from jaxdoctor.facts.trial import Kind
from jaxdoctor.prescriptions.from_probe import prescribe
from tests.attributions import MAKE_M, around, attribution, need
from tests.outcomes import outcome, trial

MACHINE = SimpleNamespace(environment=SimpleNamespace(accelerator=SimpleNamespace(name="rtx-4090")))
FOUND = [
    Finding(code=code, name=name, severity=Severity.ERROR, location=Location(), message="m")
    # The second asks for nothing that bits could give.
    for code, name in (("JD201", "nan-at-delivered-precision"), ("JD301", "nonfinite-values"))
]
DEFAULT = trial(16, Precision(name="default", mantissa_bits=10), Kind.NATIVE, seconds_per_step=1.0)


def full(**fields):
    return trial(0, F32, Kind.NATIVE, **fields)


def high(failed, seconds, bits=23):
    return trial(failed, Precision(name="high", mantissa_bits=bits), Kind.NATIVE, seconds_per_step=seconds)


def prescribed(*trials, **fields):
    ill = replace(outcome(16, **fields), trials=trials) if trials else outcome(16, **fields)
    return prescribe(ill, FOUND, MACHINE)


def test_highest_is_prescribed_with_its_codes():
    (setting,) = prescribed().settings

    assert (setting.key, setting.value) == ("jax_default_matmul_precision", "highest")
    assert setting.because == ("JD201",)
    assert setting.price is None


def test_the_products_that_need_the_bits_are_prescribed_instead_of_all():
    """Set, width, price and both cures, as far as they were seen to help."""
    tried = attribution(need(), around=around())

    assert prescribed(attribution=tried).instead == (
        f"raise only {MAKE_M} from 13 bits on: 10.0% of the operations of all products; tried: finite",
        'step = jaxdoctor.remedies.raise_precision(step, sites=["mujoco/mjx/_src/support.py:67"])',
        f"or, before it is traced: {'; '.join(around().statements)}",
    )
    assert len(prescribed(attribution=attribution(need())).instead) == 2
    assert prescribed(attribution=attribution(need(), cured=False)).instead == ()
    assert prescribed().instead == ()


def test_its_price_is_what_was_measured_here():
    (setting,) = prescribed(DEFAULT, full(seconds_per_step=2.5)).settings

    assert setting.price == "2.50 x the time per step of default on rtx-4090"


@pytest.mark.parametrize(
    ("measured", "value"),
    [
        (high(0, 1.5), "high"),
        (high(3, 1.5), "highest"),  # not enough
        (high(0, 3.0), "highest"),  # no cheaper
    ],
)
def test_high_is_prescribed_only_where_it_was_seen_to_be_enough_and_cheaper(measured, value):
    (setting,) = prescribed(DEFAULT, measured, full(seconds_per_step=2.5)).settings

    assert setting.value == value


def test_x64_is_prescribed_only_where_float32_is_not_enough():
    slow = trial(0, F64, Kind.NATIVE, seconds_per_step=3.0, peak_bytes=200)
    memory = Memory(replay=100, x64=200)
    (setting,) = prescribed(
        full(seconds_per_step=1.0, peak_bytes=100), slow, required=24, full=16, memory=memory
    ).settings

    assert (setting.key, setting.value) == ("jax_enable_x64", True)
    assert setting.price == "3.0 x the time per step of float32 on this machine, 2.0 x the memory"


def test_what_a_setting_does_not_reach_is_said():
    lines = ("mujoco/mjx/_src/collision_convex.py:628 (f)",)

    assert any(lines[0] in sentence for sentence in prescribed(own_precision=lines).reach)


def test_nothing_is_set_for_a_healthy_rollout_or_a_model_at_fault():
    healthy = prescribe(outcome(), FOUND, MACHINE)
    unstable = prescribe(outcome(16, Verdict.MODEL, x64=16), FOUND, MACHINE)

    assert not healthy.settings
    assert not unstable.settings
    assert "no precision mends" in unstable.reach[0]
