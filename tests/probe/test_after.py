"""What is looked for once the verdict stands."""

import time
from dataclasses import replace

import pytest

from jaxdoctor.errors import WorkerError
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.outcome import Growth, Parting, RolledInC, StepInC, Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.probe import after as module
from jaxdoctor.probe.after import After
from jaxdoctor.replay.plan import (
    CURES_IN_C,
    CURES_IN_MJX,
    NATIVE,
    PARTING,
    WARP,
    Judgement,
    Lane,
    NativeReplay,
)
from tests.outcomes import outcome, trial

CONE, SOLVER, STEP = 'cone="pyramidal"', 'solver="CG"', 'timestep="0.001"'
FAILS = (StepInC(step=3, replay=20, holds=True),)
ENGINE = outcome(0, Verdict.ENGINE, x64=2, steps_in_c=FAILS)


def tried(change, failed):
    return Cure(change=change, failed=failed, replays=16, instead_of=2, where="MJX at x64")


class Workers:
    """Answers instead of workers, and remembers what was asked."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def __call__(self, call, **_):
        plan = call.arguments[1]
        self.asked.append((call.task, plan))
        answer = self.answers[call.task]
        answer = answer(plan) if callable(answer) else answer
        if isinstance(answer, BaseException):
            raise answer
        return answer


def looked(monkeypatch, found, answers, *, cures=True, seconds=100.0):
    workers = Workers(answers)
    monkeypatch.setattr(module, "run", workers)
    later = After(folder="", deadline=time.monotonic() + seconds, batch=16, environment=dict)
    return later.completed(found, cures=cures), workers


def engine(plan):
    """The timestep does not mend it, the cone does, and the solver would."""
    changes = {STEP: 2, CONE: 0, SOLVER: 0}
    numbers = {STEP}
    wanted = numbers if plan.only is None else {plan.only}
    return tuple(
        tried(change, failed) if change in wanted else Cure(change=change)
        for change, failed in changes.items()
    )


def test_the_engines_faults_are_tried_near_the_step_that_fails(monkeypatch):
    """Changes of numbers in one program, those of structure one by one until one mends it."""
    monkeypatch.setattr(module, "TOGETHER", 1)

    found, workers = looked(monkeypatch, ENGINE, {CURES_IN_MJX: engine})

    assert {cure.change: cure.failed for cure in found.cures} == {STEP: 2, CONE: 0, SOLVER: None}
    assert [plan.only for _, plan in workers.asked] == [None, CONE]
    assert all(plan.near and plan.first == 16 for _, plan in workers.asked)


@pytest.mark.parametrize(
    "in_c",
    [
        RolledInC(replays=16, unusable=3, first_unusable_step=9),
        RolledInC(replays=16, growth=Growth(growing=1, replays=16, speeds=(1, 200), energies=(1, 4e4))),
    ],
)
def test_what_fails_in_c_is_mended_in_c(monkeypatch, in_c):
    ill = outcome(0, Verdict.MODEL, in_c=in_c)

    found, workers = looked(monkeypatch, ill, {CURES_IN_C: (tried(STEP, 0),)})

    assert [cure.change for cure in found.cures] == [STEP]
    assert [task for task, _ in workers.asked] == [CURES_IN_C]


def test_where_float32_is_too_narrow_changes_are_tried_in_float32(monkeypatch):
    ill = outcome(16, required=24, full=16)

    _, workers = looked(monkeypatch, ill, {CURES_IN_MJX: ()})

    assert workers.asked[0][1].where == "MJX in float32"
    assert not workers.asked[0][1].near


def test_where_float32_seldom_fails_changes_are_tried_around_a_failing_replay(monkeypatch):
    """One of 64 meets the bad spot: it is in the fourth batch of 16."""
    decides = replace(trial(1, F32), replays=64, first_bad_replay=52)
    ill = outcome(1, required=24, full=1, as_delivered=decides)

    _, workers = looked(monkeypatch, ill, {CURES_IN_MJX: ()})

    assert (workers.asked[0][1].first, workers.asked[0][1].near) == (48, True)


def test_what_was_tried_beside_the_emulation_is_not_tried_again(monkeypatch):
    workers = Workers({})
    monkeypatch.setattr(module, "run", workers)
    later = After(
        folder="", deadline=time.monotonic() + 100, batch=16, environment=dict, known=(tried(CONE, 0),)
    )

    assert later.completed(ENGINE, cures=True).cures == (tried(CONE, 0),)
    assert later.completed(outcome(16), cures=True).cures == ()
    assert not workers.asked


def test_a_healthy_rollout_and_one_that_a_setting_mends_cost_nothing(monkeypatch):
    for found in (outcome(), outcome(16)):
        _, workers = looked(monkeypatch, found, {})

        assert not workers.asked


def test_no_cures_are_looked_for_where_none_are_wanted_or_no_time_is_left(monkeypatch):
    for fields in ({"cures": False}, {"seconds": 1.0}):
        found, workers = looked(monkeypatch, ENGINE, {}, **fields)

        assert found == ENGINE
        assert not workers.asked


PARTED = Parting(steps=800, parted=800, error=0.5, tolerance=1e-3, worst=((5, 2),))


def test_the_field_is_looked_for_where_steps_part(monkeypatch):
    found, workers = looked(monkeypatch, outcome(parting=PARTED), {PARTING: ("qvel", 0.4)})

    assert (found.parting.field, found.parting.field_error) == ("qvel", 0.4)
    assert workers.asked[0][1].worst == ((5, 2),)
    _, idle = looked(monkeypatch, outcome(parting=replace(PARTED, parted=0)), {})
    assert not idle.asked


@pytest.mark.parametrize("ends", [WorkerError("it died", hint=""), KeyboardInterrupt()])
def test_what_comes_after_never_costs_the_outcome(monkeypatch, ends):
    ill = replace(ENGINE, parting=PARTED)

    found, _ = looked(monkeypatch, ill, {CURES_IN_MJX: ends, PARTING: None})

    assert found == ill


def judged(**fields):
    return Judgement(
        lane=Lane(),
        replays=16,
        steps=50,
        failed=2,
        first_bad_step=7,
        first_bad_field="qacc",
        bad_fields=("qacc",),
        hidden=0,
        **fields,
    )


def test_the_float32_replay_is_compiled_under_each_of_the_flags(monkeypatch):
    """A worker that dies leaves its flags out."""
    judgement = judged()
    answers = iter([NativeReplay(judgement=judgement), WorkerError("it died", hint="")])
    workers = Workers({NATIVE: lambda _: next(answers)})
    monkeypatch.setattr(module, "run", workers)
    later = After(
        folder="",
        deadline=time.monotonic() + 100,
        batch=16,
        environment=dict,
        compilers=("--quick", ""),
        replays=16,
    )

    found = later.completed(outcome(), cures=True)

    assert [(run.flags, run.failed, run.first_bad_field) for run in found.compiled] == [
        ("--quick", 2, "qacc")
    ]
    assert all(plan.replays == 16 and not plan.is_reference for _, plan in workers.asked)


def with_warp(monkeypatch, answer):
    workers = Workers({WARP: answer})
    monkeypatch.setattr(module, "run", workers)
    later = After(folder="", deadline=time.monotonic() + 100, batch=16, environment=dict, warp=True)
    return later.completed(outcome(), cures=True), later.trouble


def test_warps_replay_becomes_a_trial_of_its_own(monkeypatch):
    found, trouble = with_warp(monkeypatch, judged(horizon=40.0, one_step_error=2e-7))

    assert not trouble
    assert (found.warp.precision.name, found.warp.failed, found.warp.horizon) == ("warp", 2, 40.0)
    assert found.verdict is Verdict.HEALTHY


@pytest.mark.parametrize("answer", [WorkerError("it died", hint="install it"), None])
def test_a_warp_that_does_not_answer_was_not_examined(monkeypatch, answer):
    found, (skipped,) = with_warp(monkeypatch, answer)

    assert found.warp is None
    assert skipped.subject == "hand.xml: the replay in Warp"
