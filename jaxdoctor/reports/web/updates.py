"""Update functions on the page."""

from __future__ import annotations

from jaxdoctor.facts.report import Report
from jaxdoctor.facts.signature import LeafSignature, Signature
from jaxdoctor.facts.text import counted
from jaxdoctor.reports.update_tables import COUNTER_HEADINGS, counter_rows, is_sweep, pivot
from jaxdoctor.reports.web.markup import Cell, Markup, joined, path, table, tag


def updates(report: Report) -> Markup:
    """Each update function, or many of them as one table."""
    if is_sweep(report.signatures):
        headings, rows = pivot(report.signatures)
        return table(headings, rows, name="Update functions")
    return joined(map(_signature, report.signatures))


def _signature(signature: Signature) -> Markup:
    heading = tag("h3", tag("code", signature.target), f" {signature.setting}")
    if signature.refused is not None:
        return tag("article", heading, tag("p", f"unknown: {signature.refused}"))
    rounds = (
        "never settle" if signature.rounds is None else f"settle after {counted(signature.rounds, 'call')}"
    )
    name = f"Leaves of {signature.target}"
    parts = [table(("leaf", "in", "out", "changes"), map(_leaf, signature.leaves), name=name)]
    if signature.counters:
        name = f"Counters of {signature.target}"
        parts.append(table(COUNTER_HEADINGS, counter_rows(signature), numbers="llrlrr", name=name))
    return tag("article", heading, tag("p", f"The types of its state {rounds}."), *parts)


def _leaf(leaf: LeafSignature) -> tuple[Cell, ...]:
    before = _side(leaf.dtype_in, leaf.shape_in, weak=leaf.weak_in)
    after = _side(leaf.dtype_out, leaf.shape_out, weak=leaf.weak_out)
    changes = tag("span", "yes", class_="pill bad") if before != after else "no"
    return path(leaf.path), before, after, changes


def _side(dtype: str | None, shape: tuple[int, ...] | None, *, weak: bool) -> str:
    extent = "" if shape is None else f"[{','.join(map(str, shape))}]"
    return "-" if dtype is None else f"{dtype}{extent}{' weak' if weak else ''}"
