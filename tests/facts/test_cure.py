"""What is said of changes that were tried."""

from jaxdoctor.facts.cure import Cure, advice


def cure(change, failed, *, instead_of=12):
    return Cure(change=change, failed=failed, replays=16, instead_of=instead_of, where="MJX at x64")


CONE, ARMATURE, SOLVER = 'cone="pyramidal"', 'armature="0.01"', 'solver="CG"'


def test_what_mends_it_is_named_with_the_numbers_and_what_was_not_tried_too():
    said = advice([cure(ARMATURE, 9), cure(CONE, 0), Cure(change=SOLVER)])

    assert said == (
        f"{CONE} mends it: 0 of 16 replays fail instead of 12, tried in MJX at x64; not tried: {SOLVER}"
    )


def test_what_only_lessens_it_is_named_where_nothing_mends_it():
    assert advice([cure(CONE, 5), cure(ARMATURE, 12)]) == (
        f"{CONE} lessens it: 5 of 16 replays fail instead of 12, tried in MJX at x64"
    )


def test_what_changes_next_to_nothing_is_no_advice():
    assert advice([cure(CONE, 11), cure(ARMATURE, 12)]) == (
        "changes to the model that were tried and do not mend it: 2"
    )


def test_a_change_mends_nothing_where_nothing_failed_without_it():
    assert not cure(CONE, 0, instead_of=0).mends


def test_what_nobody_tried_is_no_advice():
    assert advice([]) is None
    assert advice([Cure(change=CONE)]) is None


def test_a_change_is_no_advice_where_nothing_failed_without_it():
    assert advice([cure(CONE, 0, instead_of=0)]) is None
