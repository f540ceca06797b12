"""Signatures as tables: the counters of one update, and many transforms against many settings."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.signature import Fate, Signature, UpdateCounter, spoken

DASH = "-"

COUNTER_HEADINGS = ("counter", "dtype", "a call", "fate", "at call", "time")

TOO_LONG_FOR_A_CELL = 10**13
LARGEST_OF_TWO_WORDS = 2**64 - 1

SWEEP_FROM = 4
"""So many signatures are drawn as one table, and not one after the other."""


def counter_rows(signature: Signature) -> list[tuple[str, ...]]:
    """The counters of an update, with the call at which each is at its limit."""
    return [_counter_row(counter, signature.calls_per_second) for counter in signature.counters]


def _counter_row(counter: UpdateCounter, rate: float | None) -> tuple[str, ...]:
    grows = DASH if counter.increment is None else f"{counter.increment:+,g}"
    seconds = counter.seconds(rate)
    return (
        counter.leaf,
        counter.dtype,
        f"{grows} at most" if counter.conditional else grows,
        f"{counter.fate} at {_short(counter.limit)}" if counter.limit is not None else _fate(counter),
        DASH if counter.calls is None else _short(counter.calls),
        DASH if seconds is None else spoken(seconds),
    )


def _short(number: float) -> str:
    """A number as people read it: "2,147,483,647", "2^64 - 1", "4.5e+15"."""
    if abs(number) < TOO_LONG_FOR_A_CELL:
        return f"{number:,}" if isinstance(number, int) else f"{number:,g}"
    return "2^64 - 1" if number == LARGEST_OF_TWO_WORDS else f"{number:.1e}"


def _fate(counter: UpdateCounter) -> str:
    return "depends on data" if counter.fate is Fate.UNKNOWN else counter.fate.value


def is_sweep(signatures: Sequence[Signature]) -> bool:
    """Whether a table tells more than one after the other."""
    return len(signatures) >= SWEEP_FROM


def pivot(signatures: Sequence[Signature]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and rows: one row for each target, one column for each setting, verdicts in the cells."""
    settings = list(dict.fromkeys(signature.setting for signature in signatures))
    cells: dict[str, dict[str, str]] = {}
    for signature in signatures:
        cells.setdefault(signature.target, {})[signature.setting] = _cell(signature)
    rows = [(target, *(row.get(setting, DASH) for setting in settings)) for target, row in cells.items()]
    return ("target", *settings), rows


def _cell(signature: Signature) -> str:
    if signature.verdict == "weak type drifts" and signature.rounds:
        return f"weak type drifts, {signature.rounds + 1} compiles"
    return signature.verdict
