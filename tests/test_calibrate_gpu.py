"""The calibration script: without a GPU one clear error, and with one a result that can be read."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from jaxdoctor.facts.delivery import MEASURED, Deliveries
from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.precision import F32, F64, TF32, Precision
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.machine.card import card_named
from jaxdoctor.machine.judged import Machine
from tests.environments import deliveries, environment
from tests.paths import ROOT

SCRIPT = ROOT / "benchmarks" / "calibrate_gpu.py"


@pytest.fixture
def calibrate_gpu():
    spec = importlib.util.spec_from_file_location("calibrate_gpu", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_gpu_it_says_what_it_needs(calibrate_gpu, tmp_path):
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(SCRIPT.parent.parent)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--folder", str(tmp_path), "--time-limit", "60"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "error: there is no GPU to calibrate with: JAX computes on cpu",
        f" help: {calibrate_gpu.NEEDS}",
    ]
    assert list(tmp_path.iterdir()) == []


def trial(precision, kind, failed):
    return Trial(source="hand", precision=precision, kind=kind, replays=16, steps=100, failed=failed)


def ran(found):
    """Expected deliveries, as if they had been measured."""
    return Deliveries(
        machine=found.machine,
        products=tuple(replace(product, source=MEASURED, side="left") for product in found.products),
    )


def test_the_result_compares_products_controls_and_failure_shares(calibrate_gpu):
    found = ran(deliveries("h200"))
    worse = replace(found.products[0], mantissa_bits=7)
    machine = Machine(
        environment=environment("h200"),
        software=Software(versions={}),
        deliveries=replace(found, products=(worse, *found.products[1:])),
    )
    controls = ran(deliveries("h200", settings=["TF32_TF32_F32"])).products
    default = Precision(name="default", mantissa_bits=10, jax_setting="default")
    outcome = Outcome(
        subject="hand",
        verdict=Verdict.PRECISION,
        trials=(
            trial(default, Kind.NATIVE, 15),
            trial(F32, Kind.NATIVE, 0),
            trial(F64, Kind.NATIVE, 0),
            trial(TF32, Kind.EMULATED, 2),
        ),
    )

    result = calibrate_gpu.document(machine, card_named("h200"), controls, [outcome])

    assert result["products_as_expected"] == len(result["products"]) - 1
    assert [each["as_named"] for each in result["controls"]] == [True] * 12
    assert [(row["setting"], row["agree"]) for row in result["scenarios"]] == [
        ("default", False),
        ("highest", None),
    ]
    json.dumps(result)
    text = calibrate_gpu.markdown(result)
    assert "| hand | default | 10 | 15 of 16 | 2 of 16 | no |" in text
    assert "63 of 64 probed operands get the bits expected of them" in text
