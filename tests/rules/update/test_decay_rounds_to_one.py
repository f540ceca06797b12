"""JD515: decays that half precision holds as 1."""

from dataclasses import replace

from jaxdoctor.facts.signature import LostDecay
from jaxdoctor.rules.update.decay_rounds_to_one import decay_rounds_to_one
from tests.signatures import SITE, hits, signature

HELD = LostDecay(leaves=("nu/w", "nu/b"), factor="b2", dtype="bfloat16", number=1.0, still=True, site=SITE)


def test_an_average_that_never_moves_is_told_with_its_decay_and_line():
    (finding,) = hits(decay_rounds_to_one, signature(lost_decays=(HELD,)))

    assert finding.message == "b2 is 1 in bfloat16 and 1 minus it is 0: nu/w (and 1 more) never moves"
    assert (finding.location.line, finding.location.leaf, finding.fix) == (4, "nu/w", None)


def test_a_factor_that_was_rounded_is_told_with_the_number_that_it_was():
    rounded = replace(HELD, leaves=("w",), factor=None, number=0.999, still=False)

    (finding,) = hits(decay_rounds_to_one, signature(lost_decays=(rounded,)))

    assert finding.message == "a factor of 0.999 becomes 1 in bfloat16: w never fades"


def test_an_update_without_such_a_factor_is_healthy():
    assert not hits(decay_rounds_to_one, signature())
