"""Probes every packaged scenario for a card with TF32 and prints the table of `docs/scenarios.md`.

Run it with `python benchmarks/scenarios.py`, or with `--write` to put the table into the document.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import F32, F64, TF32
from jaxdoctor.facts.trial import Trial
from jaxdoctor.models.scenario import SCENARIOS
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe, scenario_ask
from jaxdoctor.probe.verdict import MORE_THAN_FLOAT32

CARD = "rtx-4090"
"""Any card that multiplies float32 as TF32 by default."""

DOCUMENT = Path(__file__).parent.parent / "docs" / "scenarios.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table, and writes it when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/scenarios.md")
    options = parser.parse_args(arguments)
    lines = []
    for line in _lines():
        lines.append(line)
        print(line, flush=True)
    table = "\n".join(lines) + "\n"
    if options.write:
        text = DOCUMENT.read_text()
        before, _, rest = text.partition(BEGIN)
        DOCUMENT.write_text(before + BEGIN + table + END + rest.partition(END)[2])
    return 0


def _lines() -> Iterator[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "mujoco", "mujoco-mjx"))
    yield f"Judged for {CARD}, emulated on a CPU, with {versions}."
    yield ""
    yield "| scenario | verdict | requires | TF32 | float32 | float64 |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, SCENARIOS.names())


def _row(name: str) -> str:
    ask = replace(scenario_ask(Ask(model="", subject="", steps=None), name), cache=False)
    (outcome,) = probe(ask, card=CARD).outcomes
    assert outcome.verdict is SCENARIOS.load(name).expected, f"{name} is {outcome.verdict}"
    cells = [_failed(outcome, precision.name) for precision in (TF32, F32, F64)]
    return f"| {name} | {outcome.verdict} | {_bits(outcome)} | {' | '.join(cells)} |"


def _bits(outcome: Outcome) -> str:
    bits = outcome.required_bits
    if outcome.verdict == "model":
        return "-"
    return "more than 23" if bits == MORE_THAN_FLOAT32 else str(bits)


def _failed(outcome: Outcome, name: str) -> str:
    trial: Trial = next(trial for trial in outcome.trials if trial.precision.name == name)
    field = f", {trial.first_bad_field}" if trial.first_bad_field else ""
    return f"{trial.failed} of {trial.replays}{field}"


if __name__ == "__main__":
    sys.exit(main())
