"""What tells healthy rollouts apart, in sentences."""

from dataclasses import replace

from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.trial import Kind
from jaxdoctor.reports.behaviour import sentences
from tests.outcomes import outcome, trial

HEALTHY = outcome(
    timestep=0.002,
    behaviour_bits=14,
    trials=(trial(0, F32, Kind.NATIVE, one_step_error=1.4e-7),),
    as_delivered=trial(0, one_step_error=3.2e-5, horizon=83.0),
)


def test_the_error_of_a_step_and_the_width_that_behaves_otherwise():
    assert list(sentences(HEALTHY)) == [
        "one step at tf32 errs by 3.2e-05, 229 x float32's 1.4e-07",
        "behaves as in float32 down to 14 bits; at tf32 replays leave x64's after 83 steps, 0.17 s",
    ]


def test_where_enough_is_delivered_no_replay_leaves():
    (_, said) = sentences(replace(HEALTHY, behaviour_bits=9))

    assert said == "behaves as in float32 down to 9 bits"


def test_where_nothing_is_rounded_no_width_behaves_otherwise():
    assert not [said for said in sentences(replace(HEALTHY, rounded=0)) if "behaves" in said]


def test_bits_are_not_the_question_where_float32_is_too_narrow():
    memory = Memory(replay=1024, x64=2048)
    ill = replace(HEALTHY, required_bits=24, memory=memory)

    assert list(sentences(ill)) == ["x64: 2.0 x the memory of the replay"]


def test_nor_where_the_physics_are_at_fault():
    assert not list(sentences(replace(HEALTHY, verdict=Verdict.MODEL)))


def test_the_memory_of_the_users_batch_stands_beside_the_cards():
    memory = Memory(replay=2**20, x64=2**21, batch=4096, card=24 * 2**30)

    assert list(sentences(outcome(memory=memory)))[-1] == (
        "x64: 2.0 x the memory of the replay; 4,096 environments take about 4.0 GiB in float32 and "
        "8.0 GiB at x64, of 24.0 GiB"
    )
