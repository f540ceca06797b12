"""SaveCadence: when to save."""

import warnings

import pytest

from jaxdoctor.remedies import SaveCadence, StepCounter
from jaxdoctor.remedies.save_cadence import CadenceWarning


def test_it_saves_at_multiples_and_at_the_end():
    cadence = SaveCadence(500, counter=0, maximum=1200)

    saved = [step for step in range(1, 1201) if cadence.at(step)]

    assert saved == [500, 1000, 1200]


def test_a_counter_that_jumps_saves_when_it_has_passed_a_multiple():
    """Environment steps grow by thousands."""
    cadence = SaveCadence(10_000)

    saved = [step for step in range(4096, 50_000, 4096) if cadence.at(step)]

    assert saved == [12_288, 20_480, 32_768, 40_960]


def test_a_restart_saves_where_the_run_would_have():
    cadence = SaveCadence(500, counter=StepCounter.of(1500))

    saved = [step for step in range(1500, 3001) if cadence.at(StepCounter.of(step))]

    assert saved == [2000, 2500, 3000]


def test_a_step_is_not_saved_twice_and_that_is_said():
    cadence = SaveCadence(500)
    assert cadence.at(500)

    with pytest.warns(CadenceWarning, match="has not advanced since the last call: step 500 again"):
        again = cadence.at(500)

    assert (again.save, again.fault) == (False, True)


def test_a_counter_that_wraps_is_told():
    cadence = SaveCadence(1_000_000)
    cadence.at(2_000_683_008)

    with pytest.warns(CadenceWarning, match="went back from 2,000,683,008 to -1,627,389,952"):
        decision = cadence.at(-1_627_389_952)

    assert not decision


def test_a_loop_that_passes_its_maximum_saves_once_more_and_no_oftener():
    """The counter grew by two where one was planned: https://github.com/huggingface/trl/issues/2124."""
    cadence = SaveCadence(50, maximum=100)

    with warnings.catch_warnings(record=True) as stated:
        warnings.simplefilter("always")
        saved = [step for step in range(2, 203, 2) if cadence.at(step)]

    assert saved == [50, 100]
    assert len(stated) == 51
    assert "past the maximum of 100" in str(stated[0].message)


def test_a_jump_past_the_maximum_still_saves_the_end():
    cadence = SaveCadence(1000, maximum=10_000)
    cadence.at(9_500)

    with pytest.warns(CadenceWarning, match="step 10,240 is past the maximum of 10,000: saving once more"):
        assert cadence.at(10_240)
    with pytest.warns(CadenceWarning, match="the loop should have stopped"):
        assert not cadence.at(10_300)


def test_each_decision_says_why():
    cadence = SaveCadence(500)

    assert cadence.at(499).reason == "step 499 is before 500"
    assert cadence.at(501).reason == "step 501 has reached 500, a multiple of 500"


def test_an_interval_of_nothing_is_refused():
    with pytest.raises(ValueError, match="save every 1 step or more"):
        SaveCadence(0)


def test_a_rollback_on_purpose_is_said_and_the_steps_are_saved_again():
    """Restoring step 600 after 1000 in one process is no fault of the counter."""
    cadence = SaveCadence(500)
    assert cadence.at(1000)

    cadence.restart(600)

    assert not cadence.at(700).fault
    assert cadence.at(1000)
