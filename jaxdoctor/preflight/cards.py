"""What the cards that somebody names make of checkpoints and updates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jaxdoctor.facts.bfloat16 import Bfloat16Use, in_checkpoint, in_signature
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE, card_named
from jaxdoctor.rules.diagnose import diagnose


def for_cards(report: Report, names: Iterable[str]) -> Report:
    """The report with what each card makes of bfloat16 in its checkpoints and updates.

    Raises:
        UnknownNameError: no card is called so.
    """
    uses: list[Bfloat16Use] = []
    for card in (card_named(name) for name in names if name != HERE):
        for saved in report.checkpoints:
            uses += in_checkpoint(saved, card.name, native=card.bf16)
        for signature in report.signatures:
            uses += in_signature(signature, card.name, native=card.bf16)
    return replace(report, findings=(*report.findings, *diagnose(uses)))
