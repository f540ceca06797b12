"""What a system records is what its simulation is loaded for."""

import pytest

from jaxdoctor.replay.fields import picked
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import SYSTEMS, system_of
from jaxdoctor.rollouts.source import SOURCES
from jaxdoctor.workers.progress import SILENT
from tests.mjcf import arm, mjcf


def test_every_source_names_a_system():
    assert {source.system for source in SOURCES.load_all()} <= set(SYSTEMS.names())


@pytest.mark.parametrize(("hinges", "replays"), [(2, 6), (9, 3)])
def test_a_light_model_is_replayed_more_often(tmp_path, hinges, replays):
    (tmp_path / "m.xml").write_text(mjcf(arm(hinges)))
    plan = RecordPlan(
        model=str(tmp_path / "m.xml"), controls=None, replays=3, light_replays=6, steps=4, seed=0
    )

    recording, _ = system_of(plan.model).record(plan, tmp_path, SILENT)

    assert recording.replays == replays


def test_what_is_recorded_is_what_is_loaded(tmp_path):
    """Leaves, shapes and controls agree, in the folder that both use."""
    (tmp_path / "m.xml").write_text(mjcf(arm(2), after='<actuator><motor joint="hinge1"/></actuator>'))
    plan = RecordPlan(model=str(tmp_path / "m.xml"), controls=None, replays=3, steps=4, seed=0)

    recording, facts = system_of(plan.model).record(plan, tmp_path, SILENT)
    simulation = system_of(plan.model).load(plan, tmp_path)

    assert facts is not None
    assert recording.ctrl.shape == (3, 4, simulation.controls)
    assert {name: values.shape[1:] for name, values in recording.starts.items()} == {
        name: leaf.shape for name, leaf in picked(simulation.blank, tuple(recording.starts)).items()
    }
    assert {*simulation.state, *recording.starts} <= set(simulation.carried)
    assert simulation.seconds == 0.002
