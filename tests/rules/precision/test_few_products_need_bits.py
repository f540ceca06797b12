"""JD240 on outcomes."""

from jaxdoctor.rules.precision.few_products_need_bits import few_products_need_bits
from tests.attributions import CONVEX, around, attribution, need
from tests.outcomes import outcome


def test_the_products_are_named_with_the_cure_that_was_tried():
    (finding,) = few_products_need_bits.judge(outcome(16, attribution=attribution(need())))

    assert finding.message == (
        "1 of 4 products needs the bits, 10.0% of the operations: "
        "mujoco/mjx/_src/support.py:67 (make_m) from 13 bits on"
    )
    assert finding.fix == (
        'wrap the step: jaxdoctor.remedies.raise_precision(step, sites=["mujoco/mjx/_src/support.py:67"]); '
        "tried: finite"
    )


def test_a_cure_that_was_not_tried_or_did_not_mend_it_is_not_printed():
    for cured in (None, False):
        (finding,) = few_products_need_bits.judge(outcome(16, attribution=attribution(need(), cured=cured)))

        assert finding.fix is None


def test_where_every_product_needs_them_the_setting_is_as_cheap():
    both = attribution(need(), need(CONVEX), products=2)

    assert not list(few_products_need_bits.judge(outcome(16, attribution=both)))
    assert not list(few_products_need_bits.judge(outcome(16)))
    undecided = attribution(undecided="not decided by 32 replays")
    assert not list(few_products_need_bits.judge(outcome(16, attribution=undecided)))


def test_the_setting_around_a_function_is_a_cure_where_it_costs_little_more():
    def fix(**fields):
        found = attribution(need(), around=around(**fields))
        (finding,) = few_products_need_bits.judge(outcome(16, attribution=found))
        return finding.fix

    statement = 'support.make_m = jax.default_matmul_precision("highest")(support.make_m); tried: finite'
    assert statement in fix()
    assert "raise_precision" in fix()
    assert statement not in fix(share=0.9)
    assert statement not in fix(finite=False)
