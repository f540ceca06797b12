"""Why a verdict is unknown, in one line."""

import re

from jaxdoctor.probe.unfinished import Unfinished, Watched, unknown_because
from jaxdoctor.replay.plan import Effort, Judgement, Lane
from jaxdoctor.workers.progress import SILENT


def judged(failed, replays=16):
    return Judgement(
        lane=Lane(), replays=replays, steps=10, failed=failed, first_bad_step=None, first_bad_field=None,
        bad_fields=(), hidden=0,
    )  # fmt: skip


def ended(stage="compiling the step", stage_seconds=170.0, effort=None, share=None):
    return Unfinished(
        subject="the emulation", stage=stage, stage_seconds=stage_seconds, seconds=175.0, share=share,
        effort=effort or Effort(),
    )  # fmt: skip


def test_what_was_measured_what_took_the_time_and_how_long_would_do():
    line = unknown_because({"x64": judged(0), "float32": None}, [ended()], 175)

    assert re.fullmatch(
        r"x64 0 of 16 failed, float32 not finished; compiling took 170 of 175 s \(load \d+ on \d+ cores\); "
        r"about --time-limit 430 would do",
        line,
    )


def test_the_slowest_worker_is_the_one_that_is_named():
    """After its compile, what is missing follows from how far its replay came."""
    replaying = ended("replaying the named precisions", 20.0, Effort(compiled=100.0), share=0.5)

    line = unknown_because({"x64": None}, [replaying, ended(stage_seconds=60.0)], 175)

    assert "replaying the named precisions took 20 of 175 s" in line
    assert replaying.missing_seconds == 4 * 20 / 0.5
    assert line.endswith("--time-limit 340 would do")


def test_a_worker_that_was_not_ended_by_the_clock_gives_no_such_advice():
    assert unknown_because({"x64": judged(3), "float32": None}, [], 300) == (
        "x64 3 of 16 failed, float32 not finished"
    )


def test_a_worker_is_watched_while_it_reports():
    watched = Watched(SILENT)
    watched.stage("replaying", 200)
    watched.reached(50)

    found = watched.unfinished("the emulation", Effort())

    assert (found.stage, found.share) == ("replaying", 0.25)
    assert found.reason.startswith("replaying took 0 of 0 s (25% done)")
