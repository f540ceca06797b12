"""JD241 on outcomes."""

from jaxdoctor.rules.precision.setting_does_not_reach import setting_does_not_reach
from tests.attributions import CONVEX, attribution, need
from tests.outcomes import outcome


def test_a_guilty_product_with_a_precision_of_its_own():
    found = attribution(need(), need(CONVEX, explicit=True))

    (finding,) = setting_does_not_reach.judge(outcome(16, attribution=found))

    assert finding.message == f"{CONVEX} needs the bits and names a precision of its own"
    # What was tried is the whole set.
    sites = '["mujoco/mjx/_src/support.py:67", "mujoco/mjx/_src/collision_convex.py:628"]'
    assert finding.fix.endswith(f"raise_precision(step, sites={sites}); tried: finite")


def test_products_that_a_setting_reaches_are_left_alone():
    assert not list(setting_does_not_reach.judge(outcome(16, attribution=attribution(need()))))
    assert not list(setting_does_not_reach.judge(outcome(16)))
