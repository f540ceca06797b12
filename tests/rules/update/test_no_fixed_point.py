"""JD503: a state that never settles."""

from jaxdoctor.rules.update.no_fixed_point import no_fixed_point
from tests.signatures import hits, leaf, signature


def test_a_state_that_grows_is_named():
    grows = leaf("history", "float32", "float32", shape_in=(1,), shape_out=(2,))

    (finding,) = hits(no_fixed_point, signature(grows, rounds=None, traces=9))

    assert finding.message == "the state's types still change after 9 calls, history among them"


def test_a_state_that_settles_after_a_call_is_another_rule_s():
    assert not hits(no_fixed_point, signature(leaf("w", "bfloat16", "float32"), rounds=1))


def test_what_could_not_be_traced_is_not_judged():
    assert not hits(no_fixed_point, signature(rounds=None, refused="it raises ValueError"))
