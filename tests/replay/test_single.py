"""A batch of one beside the batch: the same starts, other products."""

import time

from jaxdoctor.facts.precision import F32, TF32
from jaxdoctor.replay.plan import RecordPlan, SinglePlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.single import replay
from jaxdoctor.replay.system import system_of
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.workers.progress import SILENT
from tests.steppable import CODE


def test_replays_one_at_a_time_are_judged_with_their_episodes(tmp_path):
    (tmp_path / "train.py").write_text(CODE)
    plan = RecordPlan(
        model=f"--env {tmp_path}/train.py:Masked",
        controls=None,
        replays=2,
        steps=8,
        seed=0,
        policy=read_policy(None),
    )
    recording, _ = system_of(plan.model).record(plan, tmp_path, SILENT)
    scratch = Scratch(str(tmp_path))
    scratch.keep_plan(plan)
    scratch.keep_recording(recording)

    asked = SinglePlan(named=(F32, TF32), replays=2, deadline=time.monotonic() + 500)
    answer = replay(str(tmp_path), asked, progress=SILENT)

    assert answer.sites == (), "a row times a matrix runs on no matrix unit"
    (_, full), (precision, judged) = answer.named
    assert precision == TF32
    assert (judged.failed, judged.episodes.masked, judged.first_bad_field) == (2, 2, "state.data")
    assert full.episodes.change is None
