"""Counters that began again while the run went on."""

import flax.serialization
import numpy as np
import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.counter_restarted import counter_restarted
from tests.builders import checkpoint, counts, judged, leaf, scanned, series


def test_an_average_that_was_not_restored_is_told():
    (finding,) = judged(counter_restarted, counts("ema/num_updates", [900, 1800, 700, 1600]))

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "ema/num_updates fell from 1,800 to 700 while the run went from step 2,000 to 3,000"
    )
    assert finding.fix.endswith("train on from run/2000")


def test_an_optimizer_with_many_counts_is_one_finding():
    """Torch keeps a step for each parameter, as a float."""
    run = series(
        *(
            checkpoint(
                *(
                    leaf(f"opt/state/{index}/step", "float32", role="counter", value=value)
                    for index in range(4)
                ),
                step=step,
            )
            for step, value in [(100, 100.0), (200, 200.0), (300, 40.0)]
        )
    )

    (finding,) = judged(counter_restarted, run)

    assert finding.message.endswith("; so did 3 other counters")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("ema/num_updates", [10, 20, 30]),
        ("opt_state/mini_step", [3, 1, 2]),
        ("env_state/info/step", [90, 10, 50]),
        ("step", [2000, 3000, 1000]),
        ("env_steps", [1333788672, 2000683008, -1627389952]),
        ("notfinite_count", [3, 0]),
    ],
    ids=["grows", "gathers", "an episode", "the run itself", "a wrap", "in a row"],
)
def test_neighbours_are_healthy(path, values):
    assert not judged(counter_restarted, counts(path, values))


def test_what_contradicts_the_step_beside_it_is_told_by_another_rule():
    run = series(
        *(
            checkpoint(
                leaf("step", "int32", role="counter", value=step),
                leaf("opt_state/0/count", "int32", role="counter", value=count),
                step=step,
            )
            for step, count in [(1000, 1000), (2000, 2000), (3000, 50)]
        )
    )

    assert not judged(counter_restarted, run)


def test_a_real_run_is_found(tmp_path):
    """Written by Flax, with the counts of an average beside the parameters."""
    for step, count in [(10, 10), (20, 20), (30, 5)]:
        state = {
            "params": {"w": np.full((4, 4), float(step), "float32")},
            "polyak": {"count": np.int32(count)},
        }
        (tmp_path / f"checkpoint_{step}").write_bytes(flax.serialization.msgpack_serialize(state))

    assert [finding.name for finding in scanned(tmp_path)] == ["counter-restarted"]
