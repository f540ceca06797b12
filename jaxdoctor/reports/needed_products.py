"""Which products need the bits, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.attribution import Around, Attribution, Need
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import counted

MOST_NAMED = 3
"""Of the products that a setting raises besides those that need it, so many are named."""


def answers(outcome: Outcome) -> Iterator[str]:
    """What every search for the products that need the bits has found, a sentence each."""
    for found in (outcome.attribution, outcome.error_attribution):
        if found is not None:
            yield from sentences(found)


def sentences(found: Attribution) -> Iterator[str]:
    """What one search has found, a sentence each."""
    asked = "" if found.bound is None else f"for a one-step error of at most {found.bound:g}: "
    if found.undecided is not None:
        yield f"{asked}{found.undecided}, {counted(found.products, 'product')} searched"
        return
    if asked:
        yield f"{asked}{counted(len(found.needs), 'product')}"
    for need in found.needs:
        yield _need(need)
    products = counted(found.products, "product")
    tried = "" if found.bound is not None else f"; {_tried(found)}"
    yield f"{_alone(found)} {found.share:.1%} of the operations of {products}{tried}"
    for other in found.others:
        yield f"or instead {' and '.join(other)}"
    if found.around is not None:
        yield _around(found.around)


def _need(need: Need) -> str:
    bits = f"from {need.bits} bits on" if need.bits is not None else "at 23 bits"
    own = ", which names a precision of its own" if need.explicit else ""
    return f"{need.place} {bits}{own}"


def _around(around: Around) -> str:
    functions = " and ".join(function.replace(":", ".") for function in around.functions)
    return (
        f'`jax.default_matmul_precision("highest")` around {functions} raises {_reach(around)}, '
        f"{around.share:.1%} of the operations; {_finite(around.finite)}"
    )


def _reach(around: Around) -> str:
    if not around.beyond:
        return "no other product"
    if len(around.beyond) > MOST_NAMED:
        return f"{len(around.beyond)} other products too"
    return f"{' and '.join(around.beyond)} too"


def _finite(finite: bool | None) -> str:
    return "not tried" if finite is None else "tried: finite" if finite else "tried: not finite"


def _alone(found: Attribution) -> str:
    which = "it is" if len(found.needs) == 1 else "they are"
    return (
        f"{which} the only set that is enough,"
        if found.unique
        else f"{which} the cheapest set that was found,"
    )


def _tried(found: Attribution) -> str:
    if found.cured is None:
        return "not tried as a cure"
    return "tried: finite" if found.cured else "tried: not finite with them alone at highest"
