"""A name and the step inside."""

import numpy as np
import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.step_disagrees import step_disagrees
from tests.builders import checkpoint, judged, leaf, scanned, series


def run(*pairs, path="step", name="run/{}", **fields):
    """A run of saves: the number in the name, and the count inside."""
    return series(
        *(
            checkpoint(
                leaf(path, "int32", role="counter", value=held),
                step=named,
                path=name.format(named),
                **fields,
            )
            for named, held in pairs
        )
    )


def test_a_trainer_that_holds_another_step_is_told():
    saved = checkpoint(step=900, named_step=1000, metadata={"global_step": 900})

    (finding,) = judged(step_disagrees, series(saved))

    assert finding.severity is Severity.WARNING
    assert finding.message == "global_step is 900, and its name tells 1000"


@pytest.mark.parametrize("named", [900, None])
def test_a_trainer_that_holds_its_step_is_healthy(named):
    saved = checkpoint(step=900, named_step=named, metadata={"global_step": 900})

    assert not judged(step_disagrees, series(saved))


def test_one_of_several_that_differs_from_its_name_is_told():
    (finding,) = judged(step_disagrees, run((500, 500), (1000, 1000), (1500, 200)))

    assert finding.message == "step is 200, and its name tells 1500"
    assert finding.location.path == "run/1500"


def test_a_count_that_began_again_is_one_finding():
    (finding,) = judged(step_disagrees, run((500, 500), (1000, 1000), (1500, 500 + 1), (2000, 1000 + 2)))

    assert finding.message == "step is 501, and its name tells 1500; so it is with 1 other checkpoint"


def test_one_checkpoint_that_is_a_little_off_is_told():
    (finding,) = judged(step_disagrees, run((1000, 900)))

    assert finding.message == "step is 900, and its name tells 1000"


@pytest.mark.parametrize("name", ["epoch=1-step={}.ckpt", "global_step={}", "rl_model_{}_steps.zip"])
def test_names_that_write_the_count_itself_are_taken_at_their_word(name):
    assert judged(step_disagrees, run((240, 0), name=name, path="global_step"))
    assert not judged(step_disagrees, run((240, 240), name=name, path="global_step"))


@pytest.mark.parametrize(
    "pairs",
    [
        [(4000, 1000), (8000, 2000), (12000, 3000)],
        [(1000, 61000), (2000, 62000), (3000, 63000)],
        [(1, 312), (2, 624)],
        [(1000, 1001), (2000, 2001), (3000, 2999)],
        [(50000, 5)],
        [(1000, 1000), (2000, 1000)],
        [(5_000_000_000, 705_032_704)],
    ],
    ids=["accumulation", "resumed", "epochs", "off by one", "alone", "stands still", "wrapped"],
)
def test_neighbours_are_healthy(pairs):
    """Other units, or faults which other rules report."""
    assert not judged(step_disagrees, run(*pairs))


def test_a_renamed_file_of_a_real_run_is_found(tmp_path):
    """Written by NumPy; the count lies one level down."""
    for named, held in [(300, 300), (600, 600), (2400, 900)]:
        np.savez(tmp_path / f"ckpt_{named}.npz", **{"state/step": np.int64(held), "w": np.ones(3) * held})

    assert [finding.name for finding in scanned(tmp_path)] == ["step-disagrees"]
