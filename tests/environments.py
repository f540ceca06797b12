"""Environments and deliveries, built in a line each."""

from jaxdoctor.facts.environment import Accelerator, Environment, Software
from jaxdoctor.machine.card import card_named
from jaxdoctor.machine.expected import deliveries_of_card

VERSIONS = {
    "python": "3.12.4",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "mujoco": "4.0.0",
    "mujoco-mjx": "3.17.0",
}

CPU = Accelerator(name="cpu", platform="cpu", market="CPU", tf32=False)


def accelerator(name):
    card = card_named(name)
    return Accelerator(
        name=name,
        platform=card.platform,
        card=name,
        compute_capability=card.compute_capability,
        market=card.market,
        fp64_ratio=card.fp64_ratio,
        tf32=card.tf32,
    )


def environment(card="rtx-4090", *, versions=None, **fields):
    """A healthy machine with that card, or with "cpu" alone, and what is changed about it."""
    return Environment(
        accelerator=CPU if card == "cpu" else accelerator(card),
        **{
            "cpu_cores": 16,
            "cpu_threads": 16,
            "platform": "Linux-x86_64",
            "versions": VERSIONS | (versions or {}),
        }
        | fields,
    )


def software(*, versions=None, **fields):
    """Packages that fit one another, and what is changed about them."""
    return Software(versions=VERSIONS | (versions or {}), **fields)


def deliveries(card="rtx-4090", jaxlib="0.10.2", **fields):
    """What that card would deliver with that jaxlib."""
    return deliveries_of_card(card_named(card), jaxlib, **fields)


def shown(finding):
    """A finding as the example of its rule's page shows it."""
    return f"{finding.code} {finding.severity.word} {finding.name}: {finding.message}"


def only(rule, fact):
    """The single finding of a rule in a fact. Its page's example looks like it."""
    (finding,) = rule.judge(fact)
    assert f"```text {shown(finding)} ```" in " ".join(rule.page.split()), shown(finding)
    return finding
