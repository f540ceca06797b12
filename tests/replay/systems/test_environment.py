"""An environment as a system: what is recorded, stepped in a closed loop, and refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.closed_loop import Part
from jaxdoctor.programs.emulate import emulate
from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.episodes import episodes_of
from jaxdoctor.replay.judge import judgement_of
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.system import system_of
from jaxdoctor.replay.systems.environment import inspected
from jaxdoctor.replay.variations import auto_reset_of, resetting, with_first
from jaxdoctor.rollouts.environments import make
from jaxdoctor.rollouts.sources.environment import environment_named
from jaxdoctor.workers.progress import SILENT
from tests.rollouts.policies.brax_saved import saved_by_brax
from tests.steppable import plan_of

REPLAYS, STEPS = 4, 12


@pytest.fixture
def recorded(tmp_path):
    def record(name, **more):
        plan = plan_of(tmp_path, name, replays=REPLAYS, steps=STEPS, **more)
        system = system_of(plan.model)
        return plan, system, *system.record(plan, tmp_path, SILENT)

    return record


def rolled(recorded, tmp_path, name, lanes):
    plan, system, recording, _ = recorded(name)
    ensemble = Ensemble(system.load(plan, tmp_path), batch=REPLAYS, lanes=len(lanes), chunk=STEPS)
    return ensemble, ensemble.roll_out(recording, lanes)


def test_a_closed_loop_at_two_widths(recorded, tmp_path):
    ensemble, (full, narrow) = rolled(recorded, tmp_path, "point", [Lane(), Lane(bits=1)])

    assert [site.place for site in ensemble.program.sites], "the policy's layers are part of what is rounded"
    assert not full.bad.any()
    seen = full.states["next_observation"]
    assert seen.shape == (STEPS + 1, REPLAYS, 2)
    assert (seen[0] == narrow.states["next_observation"][0]).all(), "every lane starts from the same reset"
    assert (full.states["action"][-1] != narrow.states["action"][-1]).any()


def test_the_physics_that_breaks_is_named_with_its_step(recorded, tmp_path):
    _, (rollout,) = rolled(recorded, tmp_path, "Blind", [Lane()])
    judged = judgement_of(Lane(), [rollout], replays=REPLAYS)

    assert (judged.failed, judged.first_bad_step, judged.first_bad_field) == (REPLAYS, 5, "state.data")


def test_gymnax_is_driven_by_one_of_several_choices(recorded, tmp_path):
    _, (rollout,) = rolled(recorded, tmp_path, "choice", [Lane()])

    assert set(np.unique(rollout.states["action"][1:])) <= {0, 1, 2}
    assert not rollout.bad.any()


def test_a_model_that_a_function_makes_is_replayed_as_a_model(recorded, tmp_path):
    plan, system, recording, facts = recorded("model")

    assert recording.qpos.shape == (REPLAYS, 1)
    assert facts.path == plan.model.removeprefix("--env ")
    assert system.load(plan, tmp_path).coordinates == "qpos"
    assert system.twin(plan, tmp_path).model.nq == 1


def test_an_mjx_model_that_a_function_makes_is_stepped_as_it_is(recorded, tmp_path):
    plan, system, recording, facts = recorded("mjx_model")
    ensemble = Ensemble(system.load(plan, tmp_path), batch=REPLAYS, chunk=STEPS)
    (rollout,) = ensemble.roll_out(recording, [Lane()])

    assert (facts, system.twin(plan, tmp_path)) == (None, None)
    assert (recording.start, recording.seconds) == ("qpos0", 0.002)
    assert np.abs(recording.ctrl[..., 0]).max() <= 2, "within the actuator's range"
    assert not recording.qvel[0].any()
    assert recording.qvel[1:].all()
    assert ensemble.leaves.index("xpos") < ensemble.leaves.index("qacc")
    assert not rollout.bad.any()
    assert (rollout.states["qpos"][-1] != rollout.states["qpos"][0]).all()


def test_a_batch_of_mjx_models_is_refused(recorded):
    with pytest.raises(JaxdoctorError, match="returns a batch of models") as caught:
        recorded("mjx_models")

    assert "return one of them" in caught.value.hint


def test_what_is_computed_past_the_end_of_an_episode_is_not_judged(recorded, tmp_path):
    ensemble, (rollout,) = rolled(recorded, tmp_path, "Fallen", [Lane()])
    told = episodes_of([rollout], ensemble.simulation.driven, replays=REPLAYS)

    assert not rollout.bad.any()
    assert (told.ended, told.returns.value) == (REPLAYS, 4)


def test_an_episode_that_is_begun_anew_goes_on(recorded, tmp_path):
    """The end after 4 steps holds nobody: steps are counted on, so that the NaN after 5 comes."""
    plan, system, recording, _ = recorded("Fallen")
    varied = resetting(system.load(plan, tmp_path))
    ensemble = Ensemble(varied, batch=REPLAYS, chunk=STEPS)
    (rollout,) = ensemble.roll_out(with_first(recording), [Lane()])

    assert auto_reset_of(rollout).left == REPLAYS


@pytest.mark.filterwarnings("ignore")  # Brax warns of what it calls itself.
@pytest.mark.parametrize(
    ("backend", "is_mujocos"), [("mjx", True), ("generalized", False), ("spring", False)]
)
def test_a_model_is_judged_by_mujocos_rules_only_where_mujoco_steps_it(backend, is_mujocos):
    environment = make(environment_named(f"brax:inverted_pendulum,backend={backend}"))
    facts = inspected(environment, seed=0)

    assert (facts is not None) == is_mujocos
    if facts is not None:
        assert facts.timestep == environment.model.opt.timestep < environment.seconds


def test_an_environment_has_no_twin_in_c(recorded, tmp_path):
    plan, system, *_ = recorded("point")

    assert system.twin(plan, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Floats", "step of .*Floats cannot be traced: ConcretizationTypeError"),
        ("Forgets", r"returns another state than its reset, at .*steps"),
        ("Prints", "prints, or calls Python from its program"),
        ("Begins", "step of .*Begins resets by itself where it is done"),
    ],
)
def test_a_step_that_cannot_be_replayed_is_told(recorded, name, message):
    with pytest.raises(JaxdoctorError, match=message):
        recorded(name)


def test_the_policys_products_are_told_from_the_physics(recorded, tmp_path):
    plan, system, *_ = recorded("point")
    simulation = system.load(plan, tmp_path)
    alone = emulate(simulation.driven.acts, simulation.parameters)
    whole = Ensemble(simulation, batch=REPLAYS).program

    assert {site.place for site in alone.sites} == {site.place for site in whole.sites}


def test_a_weight_that_is_not_finite_is_the_policys(tmp_path):
    def spoil(pair):
        normaliser, policy = pair
        return normaliser, jax.tree.map(lambda leaf: leaf.at[0].set(jnp.nan), policy)

    saved = saved_by_brax(tmp_path / "runs", size=2, actions=1, fill=spoil)
    plan = plan_of(tmp_path, "point", replays=REPLAYS, steps=STEPS, policy=str(saved.checkpoint))
    system = system_of(plan.model)
    recording, _ = system.record(plan, tmp_path, SILENT)
    simulation = system.load(plan, tmp_path)
    (rollout,) = Ensemble(simulation, batch=REPLAYS, chunk=STEPS).roll_out(recording, [Lane()])
    told = episodes_of([rollout], simulation.driven, replays=REPLAYS)

    assert (told.part, told.surviving) == (Part.OUTPUT, REPLAYS)
    assert told.magnitude is not None, "from a finite observation"


def test_the_actions_of_a_file_drive_the_environment_alone(recorded, tmp_path):
    """As `--controls record:FILE.npz` keeps them: replays x steps x the numbers of an action."""
    np.savez(tmp_path / "played.npz", action=np.ones((2, STEPS + 3, 1)), ctrl=np.zeros((2, 1, 9)))
    plan, system, recording, _ = recorded("point", controls=str(tmp_path / "played.npz"))
    simulation = system.load(plan, tmp_path)
    (rollout,) = Ensemble(simulation, batch=REPLAYS, chunk=STEPS).roll_out(recording, [Lane()])

    assert (simulation.driven, recording.loop, recording.steps) == (None, None, STEPS)
    speed = np.diff(rollout.states["state.data"][:, :, 1], axis=0)
    np.testing.assert_allclose(speed, 0.1, rtol=1e-5)


def test_actions_of_another_size_are_one_clear_error(recorded, tmp_path):
    np.save(tmp_path / "played.npy", np.ones((STEPS, 3)))

    with pytest.raises(JaxdoctorError, match=r"action in .* has the shape 12x3") as caught:
        recorded("point", controls=str(tmp_path / "played.npy"))
    assert "point wants steps x 1" in caught.value.hint


def test_drawn_actions_differ_from_the_likeliest(recorded, tmp_path):
    """From the same states and keys, and alike in every replay of the same key."""

    def actions(name):
        plan, system, recording, _ = recorded(name)
        ensemble = Ensemble(system.load(plan, tmp_path), batch=REPLAYS, chunk=STEPS)
        return ensemble.roll_out(recording, [Lane()])[0].states["action"][1]

    likeliest, drawn = actions("point"), actions("point,actions=drawn")

    assert (likeliest != drawn).any()
    assert (drawn == actions("point,actions=drawn")).all()
