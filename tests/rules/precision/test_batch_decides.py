"""JD242 on outcomes."""

from jaxdoctor.rules.precision.batch_decides import batch_decides
from tests.attributions import MAKE_M, attribution, need
from tests.outcomes import outcome


def test_a_guilty_product_that_is_none_in_a_batch_of_one():
    (finding,) = batch_decides.judge(outcome(16, attribution=attribution(need(at_batch_one=False))))

    assert finding.message == (
        f"{MAKE_M} needs the bits in a batch, and runs on no matrix unit in a batch of one"
    )
    assert finding.fix == (
        "both batches compute in float32 with jaxdoctor.remedies.raise_precision(step, "
        'sites=["mujoco/mjx/_src/support.py:67"]); tried in the batch: finite'
    )


def test_a_cure_that_was_not_seen_to_help_is_not_advised():
    ill = outcome(16, attribution=attribution(need(at_batch_one=False), cured=False))
    (finding,) = batch_decides.judge(ill)

    assert finding.fix == "judge the batch of one too: --batch 1 (not tried)"


def test_a_product_of_both_batches_is_left_alone():
    for same in (True, None):
        assert not list(batch_decides.judge(outcome(16, attribution=attribution(need(at_batch_one=same)))))
