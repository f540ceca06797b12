"""A closed loop in sentences, in every format, and back from JSON."""

import io
import json
from dataclasses import replace

import jsonschema
import pytest

from jaxdoctor.facts.closed_loop import AutoReset, Episodes, Mean, OpenLoop, Part
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.precision import TF32
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.closed_loop import sentences
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.json_reader import received
from jaxdoctor.reports.json_writer import written
from jaxdoctor.reports.wording import meaning
from tests.loops import driven, loop
from tests.outcomes import trial
from tests.paths import ROOT

ILL = driven(
    9,
    alone=0,
    policy=loop(
        policy_bits=10,
        physics_bits=7,
        only_batched=("layers.py:16 (dense)",),
        scales=(0.5, 2.0),
        auto_reset=AutoReset(rows=16, steps=100, masked=7, left=1),
        open_loop=(OpenLoop(precision="tf32", failed=0, replays=16),),
    ),
    part=Part.OUTPUT,
    masked=7,
    surviving=2,
    entering=2,
    magnitude=1e4,
    deviations=310.0,
    returns=Mean(7.25, 7.0, 7.5),
    change=Mean(-2.75, -3.0, -2.5),
)


BEGAN = (
    "at tf32 the policy output is first not finite, qLD at step 3, from a finite observation of magnitude "
    "1e+04, 3.1e+02 standard deviations from what the normaliser knows"
)
MASKED = (
    "of 16 replays at tf32 an auto-reset would mask 7 and leave 2 as they are; 2 would enter a normaliser's "
    "statistics"
)

RESET = (
    "with the auto-reset of training, 7 ends by NaN were masked in 16 rows of 100 steps, and 1 row stayed "
    "not finite"
)


def reported(outcome):
    return Report(command="probe", subject="brax:ant", outcomes=(outcome,), examined=1)


def test_what_is_said():
    assert sentences(ILL) == [
        "runs/ppo/12, and MJX: the precision reaches both",
        "the policy's products alone require 10 bits, those of the physics 7",
        "matrix units compute layers.py:16 (dense) in the batch alone",
        "return, with its 95 % interval: f32 10 (9 to 11); tf32 7.25 (7 to 7.5)",
        BEGAN,
        MASKED,
        RESET,
        "with float32's actions and no policy in the loop, there fail 0 of 16 at tf32",
    ]


def test_returns_over_different_replays_say_of_how_many():
    first, *others = ILL.trials
    more = replace(ILL, trials=(replace(first, replays=48), *others))

    assert (
        "return, with its 95 % interval: f32 10 (9 to 11) of 48 replays; tf32 7.25 (7 to 7.5) of 16 replays"
        in (sentences(more))
    )


def test_what_no_setting_reaches_is_said():
    assert (
        "the physics in MuJoCo Warp's float32, where no setting of JAX does"
        in (sentences(driven(policy=loop(engine="MuJoCo Warp")))[0])
    )


def test_of_a_model_nothing_is_said():
    assert sentences(replace(ILL, loop=None)) == []


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_every_format_for_people_says_it(name):
    stream = io.StringIO()
    FORMATS.load(name).write(reported(ILL), stream)
    text = " ".join(stream.getvalue().replace("\\", "").split())

    assert "would mask 7 and leave 2" in text


def test_json_has_it_and_is_read_back():
    document = json.loads(json.dumps(written(reported(ILL))))
    jsonschema.validate(document, json.loads((ROOT / "jaxdoctor/schema/report-1.json").read_text()))
    (outcome,) = received(document).outcomes

    assert outcome.loop == ILL.loop
    assert [trial.episodes for trial in outcome.trials] == [trial.episodes for trial in ILL.trials]
    assert outcome.trials[0].episodes == Episodes(ended=0, returns=Mean(10.0, 9.0, 11.0))


def test_of_two_engines_each_is_told_with_where_the_precision_reaches():
    healthy = [
        replace(driven(policy=loop(engine=engine)), subject=f"playground:CartpoleBalance,impl={impl}")
        for impl, engine in (("warp", "MuJoCo Warp"), ("jax", "MJX"))
    ]
    stream = io.StringIO()
    report = Report(
        command="probe", subject="playground:CartpoleBalance", outcomes=tuple(healthy), examined=2
    )
    FORMATS.load("terminal").write(report, stream)
    text = " ".join(stream.getvalue().split())

    assert text.count("impl=warp") == text.count("impl=jax") == 2
    assert "where no setting of JAX does" in text
    assert "and MJX: the precision reaches both" in text


def test_a_replay_that_ends_with_its_episode_is_as_long_as_that():
    def said(**episodes):
        decides = trial(0, TF32, replays=16, episodes=Episodes(**episodes))
        return meaning(replace(driven(), as_delivered=decides, timestep=0.05, verdict=Verdict.HEALTHY))

    assert "finite to the end of its episode, at most 0.15 s, in 16 of 16" in said(ended=16, longest=3)
    assert "healthy: " in said(ended=16, longest=3), "it could not be longer"
    assert "to the end" not in said(ended=15, longest=3)
