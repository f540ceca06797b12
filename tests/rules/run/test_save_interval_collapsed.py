"""Saves far more often than planned."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.save_interval_collapsed import save_interval_collapsed
from tests.builders import checkpoint, judged, series


def saves(*steps, save_steps=500, max_steps=502, **metadata):
    return series(
        *(
            checkpoint(step=step, metadata={"save_steps": save_steps, "max_steps": max_steps, **metadata})
            for step in steps
        )
    )


def test_the_run_of_trl_2124_is_told():
    """https://github.com/huggingface/trl/issues/2124, reproduced with TRL 0.12.1."""
    (finding,) = judged(save_interval_collapsed, saves(500, *range(502, 522, 2)))

    assert finding.severity is Severity.ERROR
    assert finding.message == "saved every 2 steps from step 502 on, and save_steps is 500"


@pytest.mark.parametrize(
    "run",
    [
        saves(500, 1000, 1500, 1620, max_steps=1620),
        saves(2, 4, 6, 8, save_steps=2, max_steps=100),
        saves(1500, 3500, 4000, max_steps=9000),
        saves(500, 510, 520, save_steps=500, max_steps=900, epoch=2.0),
    ],
    ids=["last gap", "really two", "save_total_limit", "epochs"],
)
def test_neighbours_are_healthy(run):
    assert not judged(save_interval_collapsed, run)


def test_an_interval_that_was_changed_is_healthy():
    run = series(
        *(
            checkpoint(step=step, metadata={"save_steps": interval})
            for step, interval in [(500, 500), (1000, 500), (1010, 10), (1020, 10), (1030, 10)]
        )
    )

    assert not judged(save_interval_collapsed, run)


@pytest.mark.parametrize(("gap", "severity"), [(3, Severity.WARNING), (20, Severity.NOTE)])
def test_without_a_declared_interval_a_habit_that_breaks_is_told(gap, severity):
    """Of a run of any format. A policy of keeping saves can look like the milder collapse."""
    steps = [600, 1200, 1800, 2400, *(2400 + gap * index for index in range(1, 5))]
    run = series(*(checkpoint(step=step) for step in steps))

    (finding,) = judged(save_interval_collapsed, run)

    assert finding.severity is severity
    assert finding.message == f"saved every 600 steps, and every {gap} from step 2400 on"


def test_names_go_on_where_the_step_inside_stands_still():
    names = [500, 1000, 1500, 2000, 2001, 2002, 2003, 2004]
    run = series(*(checkpoint(step=min(name, 2000), named_step=name, path=f"run/{name}") for name in names))

    (finding,) = judged(save_interval_collapsed, run)

    assert finding.evidence == {"gap": 1, "before": 500, "since": 2000}


def test_the_newest_few_of_a_keeping_policy_are_healthy():
    """Orbax with keep_period=1000 and max_to_keep=3."""
    run = series(*(checkpoint(step=step) for step in [1000, 2000, 3000, 4000, 4010, 4020, 4030]))

    assert not judged(save_interval_collapsed, run)
