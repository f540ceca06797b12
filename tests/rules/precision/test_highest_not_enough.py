"""JD206 on outcomes."""

from jaxdoctor.rules.precision.highest_not_enough import highest_not_enough
from tests.outcomes import outcome, trial

CONVEX = "mujoco/mjx/_src/collision_convex.py:628 (_create_contact_manifold)"


def test_products_that_do_not_listen_can_still_break_it():
    ill = outcome(16, own_precision=(CONVEX,), at_highest=trial(12))

    (finding,) = highest_not_enough.judge(ill)

    assert finding.message == (
        "12 of 16 replays fail under highest too, because products that name a precision of their own "
        f"stay at 10 bits: {CONVEX}"
    )


def test_products_that_do_not_listen_and_do_no_harm_are_left_alone():
    assert not list(highest_not_enough.judge(outcome(16, own_precision=(CONVEX,), at_highest=trial(0))))
    assert not list(highest_not_enough.judge(outcome(16)))
