"""Whether a node has the cards that it should have, and whether their products get the bits of such cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxdoctor.facts.delivery import MEASURED, Delivery
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.node_test import NodeTest
from jaxdoctor.facts.text import counted
from jaxdoctor.machine.card import Card, card_named
from jaxdoctor.machine.expected import deliveries_of_card

DEVICES, CARD, COUNT, PRODUCTS = "devices", "card", "count", "products"
"""The tests, in their order."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a node should have."""

    card: str | None = None
    count: int | None = None


def node_tests(
    environment: Environment,
    deliveries: tuple[Delivery, ...],
    expectation: Expectation,
    seconds: Mapping[str, float] | None = None,
) -> tuple[NodeTest, ...]:
    """Every test that the expectation asks for.

    Args:
        environment: as JAX sees it.
        deliveries: of these, what was measured on this device counts.
        expectation: names a card of `cards/`.
        seconds: how long a test took.

    Raises:
        UnknownNameError: no card is called so.
    """
    measured = tuple(one for one in deliveries if one.source == MEASURED)
    took = seconds or {}
    return tuple(_tests(environment, measured, expectation, took))


def _tests(
    environment: Environment,
    measured: tuple[Delivery, ...],
    expectation: Expectation,
    seconds: Mapping[str, float],
) -> Iterator[NodeTest]:
    here = environment.device
    # Without an answer of JAX nothing is known of the node, neither good nor bad.
    on_gpu = None if here.platform == "unknown" else here.platform == "gpu"
    yield NodeTest(name=DEVICES, passed=on_gpu, detail=_seen(environment), seconds=seconds.get(DEVICES))
    if expectation.card is not None:
        card = card_named(expectation.card)
        yield _compared(CARD, here.name, card.name, fits=on_gpu and here.card == card.name)
    if expectation.count is not None:
        number = here.count if on_gpu else 0
        fits = on_gpu if on_gpu is None else number == expectation.count
        yield _compared(COUNT, counted(number, "card"), str(expectation.count), fits=fits)
    if expectation.card is not None:
        passed, detail = _products(environment, measured, card_named(expectation.card))
        yield NodeTest(name=PRODUCTS, passed=passed, detail=detail, seconds=seconds.get(PRODUCTS))


def _compared(name: str, seen: str, expected: str, *, fits: bool | None) -> NodeTest:
    return NodeTest(name=name, passed=fits, detail=seen if fits else f"{seen}; expected {expected}")


def _seen(environment: Environment) -> str:
    here = environment.device
    if here.platform == "unknown":
        return "JAX gave no answer"
    if environment.idle_gpus:
        listed = f"{len(environment.idle_gpus)} x {environment.idle_gpus[0]}"
        return f"JAX computes on the CPU; nvidia-smi lists {listed}"
    several = f"{here.count} x " if here.count > 1 else ""
    return f"JAX computes on {several}{here.name}"


def _products(
    environment: Environment, measured: tuple[Delivery, ...], card: Card
) -> tuple[bool | None, str]:
    """Fewer bits than the table's least fail; more are slower, and break nothing."""
    if environment.device.platform != "gpu" or not measured:
        return None, "no product was measured on a card"
    settings = tuple(dict.fromkeys(one.setting for one in measured))
    table = deliveries_of_card(card, environment.versions.get("jaxlib") or "", settings=settings)
    least: dict[tuple[str, str, str], int] = {}
    for one in table.products:
        least[_key(one)] = min(one.mantissa_bits, least.get(_key(one), one.mantissa_bits))
    compared = [one for one in measured if _key(one) in least]
    short = [one for one in compared if one.mantissa_bits < least[_key(one)]]
    if not compared:
        return None, "no measured product is in the table of cards"
    if not short:
        return True, f"{len(compared)} measurements give the bits of {card.name} or more"
    worst = min(short, key=lambda one: one.mantissa_bits - least[_key(one)])
    return False, (
        f"{worst.shape} gets {worst.mantissa_bits} mantissa bits at {worst.setting}, and "
        f"{least[_key(worst)]} are expected of {card.name}; "
        f"{len(short)} of {len(compared)} measurements get fewer"
    )


def _key(product: Delivery) -> tuple[str, str, str]:
    return product.setting, product.op, product.shape
