"""JD512: a second call that fails."""

from dataclasses import replace

from jaxdoctor.facts.signature import Cure, LaterError
from jaxdoctor.rules.update.later_call_raises import later_call_raises
from jaxdoctor.rules.update.no_fixed_point import no_fixed_point
from tests.signatures import hits, leaf, signature

ERROR = LaterError(call=2, message="TypeError: it takes a raw key", file="train.py", line=7)


def test_the_call_and_its_line_are_named_and_what_changed_before_it():
    key = leaf("rng", "uint32", "key<fry>", shape_in=(2,))

    ill = signature(key, rounds=None, raises=ERROR)

    (finding,) = hits(later_call_raises, ill)
    assert finding.message == "call 2 raises TypeError: it takes a raw key; before it, rng changed"
    assert (finding.location.path, finding.location.line) == ("train.py", 7)
    assert finding.fix is None
    assert not hits(no_fixed_point, ill)


def test_the_cure_of_what_changed_is_told_if_no_call_raised_under_it():
    key = leaf("rng", "uint32", "key<fry>", shape_in=(2,))
    text, tried = "a raw key comes out typed: make rng with jax.random.key", "tried: settles at once"
    settled = replace(key, cure=Cure(text=text, tried=tried))
    kept = replace(key, cure=Cure(text=text, tried="tried: it keeps its type"))

    (finding,) = hits(later_call_raises, signature(settled, rounds=None, raises=ERROR))
    assert finding.fix == f"{text} ({tried})"
    (finding,) = hits(later_call_raises, signature(kept, rounds=None, raises=ERROR))
    assert finding.fix is None


def test_an_update_that_takes_what_it_returns_is_healthy():
    assert not hits(later_call_raises, signature(leaf("w", "float32", "float32")))
