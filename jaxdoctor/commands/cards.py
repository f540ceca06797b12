"""`jaxdoctor cards`: the accelerators that `--card` and `--expect-card` take."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.machine.card import FAMILIES, Card, known_cards
from jaxdoctor.workers.stdout import to_stdout

FORMATS = ("terminal", "json")

SCHEMA = "jaxdoctor.cards/1"

HEADINGS = ("card", "class", "capability", "default", "bfloat16", "float64", "memory")


def cards(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...", help="Only cards whose name, class or family holds one of these."
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="terminal or json.")] = "terminal",
) -> None:
    """List the cards that a run can be judged for, with their class and the bits of their products."""
    if form not in FORMATS:
        raise UnknownNameError("format of cards", form, FORMATS)
    chosen = [(family.name, card) for family in FAMILIES.load_all() for card in family.cards]
    for word in words or ():
        if not any(_holds(word, family, card) for family, card in chosen):
            raise UnknownNameError("card", word, [card.name for card in known_cards()])
    if words:
        chosen = [
            (family, card) for family, card in chosen if any(_holds(word, family, card) for word in words)
        ]
    if form == "json":
        document = {"schema": SCHEMA, "cards": [_entry(family, card) for family, card in chosen]}
        text = json.dumps(document, indent=2) + "\n"
    else:
        text = _table([card for _, card in chosen])
    to_stdout(lambda out: out.write(text))


def _holds(word: str, family: str, card: Card) -> bool:
    wanted = word.lower().replace(" ", "-")
    return any(wanted in text.lower().replace(" ", "-") for text in (card.name, card.market, family))


def _entry(family: str, card: Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "family": family,
        "class": card.market,
        "compute_capability": card.compute_capability,
        "default_bits": card.default_bits,
        "tf32": card.tf32,
        "bf16": card.bf16,
        "fp64_ratio": card.fp64_ratio,
        "memory_gib": card.memory_gib,
    }


def _table(found: list[Card]) -> str:
    rows = [HEADINGS, *map(_row, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _row(card: Card) -> tuple[str, ...]:
    float64 = "none" if card.fp64_ratio is None else f"1/{round(1 / card.fp64_ratio)}"
    return (
        card.name,
        card.market,
        card.compute_capability or "-",
        f"{card.default_bits} bits",
        "native" if card.bf16 else "by float32",
        float64,
        "-" if card.memory_gib is None else f"{card.memory_gib:g} GiB",
    )


COMMAND = Command(cards, examples=("jaxdoctor cards rtx-40", "jaxdoctor cards datacenter --format json"))
