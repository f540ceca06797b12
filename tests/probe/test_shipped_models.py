"""Every model that MJX ships goes through a probe, and each gets an answer."""

import time
from importlib.util import find_spec
from pathlib import Path

import mujoco
import pytest

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.machine.judged import examine_machine
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import examine
from jaxdoctor.workers.progress import SILENT

SHIPPED = Path(find_spec("mujoco.mjx").submodule_search_locations[0]) / "test_data"
FILES = sorted(str(path.relative_to(SHIPPED)) for path in SHIPPED.rglob("*.xml"))

CROWDS = [name for name in FILES if name.endswith("_humanoids.xml")]
"""The same humanoid several times over: the first stands for all, since more only takes longer."""

REFUSED = {
    "actuator/arm26.xml": "Lengthrange computation did not converge",  # by MuJoCo 4.0, not by 3.x
    "constraints.xml": "must be slide or hinge",  # likewise
    "ray.xml": "nothing moves in",
}

PATIENCE = 900.0
"""Barkour's height field and the hand's contacts compile for minutes on a machine that is busy."""


@pytest.fixture(scope="module")
def machine():
    return examine_machine("rtx-4090", time_limit=120, progress=SILENT)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name not in CROWDS[1:]])
def test_a_model_that_mjx_ships_gets_an_answer(machine, name):
    """A verdict, or a refusal that says why; never unknown."""
    ask = Ask(
        model=str(SHIPPED / name),
        subject=name,
        steps=3,
        replays=2,
        batch=2,
        time_limit=PATIENCE,
    )

    try:
        outcome = examine(ask, machine, time.monotonic() + PATIENCE, SILENT).outcome
    except UnsupportedModelError as refusal:
        assert REFUSED[name] in str(refusal)  # noqa: PT017 (what refuses depends on MuJoCo's version)
        assert not mujoco.__version__.startswith("3") or name == "ray.xml"
        return

    assert outcome.verdict is not Verdict.UNKNOWN
    assert outcome.reason is None
    assert (outcome.required_bits is None) == (outcome.verdict is Verdict.MODEL)
