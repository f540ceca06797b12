"""What a terminal says of the tables that it does not show."""

import io
from dataclasses import replace

from jaxdoctor.reports.formats.terminal import FORMAT
from tests.sample_reports import GOLDEN


def shown(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return out.getvalue()


def test_tables_are_counted_and_shown_on_demand():
    text = shown(GOLDEN)

    assert "--verbose also shows the machine, " in text
    assert "compute capability" not in text
    assert "compute capability" in shown(replace(GOLDEN, verbose=True))
    assert "compute capability" in shown(replace(GOLDEN, in_full=True))


def test_a_run_says_how_near_its_nearest_counter_is():
    assert "at 100 % of its limit" in shown(GOLDEN)


def test_a_machine_alone_is_the_answer():
    alone = replace(GOLDEN, outcomes=(), checkpoints=(), series=(), signatures=())

    assert "compute capability" in shown(alone)


def test_healthy_rollouts_are_counted():
    text = shown(GOLDEN)

    assert "1 rollout of 2 is healthy (margin +5 bits)" in text
    assert "models/walker.xml" not in text
    assert "models/walker.xml" in shown(replace(GOLDEN, verbose=True))
