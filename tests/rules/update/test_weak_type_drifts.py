"""JD502: weak types."""

from dataclasses import replace

from jaxdoctor.facts.signature import Cure, Recorded
from jaxdoctor.rules.update.weak_type_drifts import weak_type_drifts
from tests.signatures import hits, leaf, signature

LOOP = Recorded(name="body", file="train.py", line=9, kind="loop", calls=1)


def test_a_weak_type_that_is_lost_costs_a_compile():
    cure = Cure(text="make step as jnp.int32(0)", tried="tried: settles at once")

    (finding,) = hits(weak_type_drifts, signature(leaf("step", "~int32", "int32", cure=cure), rounds=1))

    assert finding.message == (
        "step stops being weak in call 1: ~int32[] becomes int32[]; jit compiles the step 2 times"
    )
    assert finding.fix == "make step as jnp.int32(0) (tried: settles at once)"


def test_several_leaves_are_one_finding_for_each_direction():
    drifting = signature(
        leaf("a", "~int32", "int32"), leaf("b", "~float32", "float32"), leaf("c", "int32", "~int32"), rounds=1
    )

    gained, lost = hits(weak_type_drifts, drifting)

    assert lost.message.startswith("2 leaves stop being weak in call 1, first a")
    assert gained.message.startswith("c becomes weak")


def test_a_leaf_that_stays_weak_is_healthy():
    """Flax's TrainState begins at a Python 0, and `step + 1` is as weak."""
    assert not hits(weak_type_drifts, signature(leaf("step", "~int32", "~int32")))


def test_a_loop_takes_on_what_stops_being_weak_and_refuses_nothing():
    """As a while_loop whose loss begins at jnp.inf: one compile."""
    drifting = signature(leaf("loss", "~float32", "float32"), rounds=1, call=LOOP)

    assert not hits(weak_type_drifts, drifting)
    assert hits(weak_type_drifts, replace(drifting, loop_error="the carry has other types"))
    assert hits(weak_type_drifts, signature(leaf("loss", "float32", "~float32"), rounds=1, call=LOOP))
