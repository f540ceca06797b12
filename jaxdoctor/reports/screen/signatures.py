"""What an update function does to the dtypes of its state."""

from __future__ import annotations

from collections import Counter

from rich.console import Console

from jaxdoctor.facts.report import Report
from jaxdoctor.facts.signature import LeafSignature, Recorded, Signature
from jaxdoctor.facts.text import counted, cut_left
from jaxdoctor.reports.screen.lines import copied, labelled, say, table
from jaxdoctor.reports.update_tables import COUNTER_HEADINGS, counter_rows, is_sweep, pivot
from jaxdoctor.reports.wording import DASH

MOST_LEAVES = 40


def verdicts(report: Report, console: Console) -> None:
    """Each update function: which call was taken, and after how many its types settle; many are counted."""
    if is_sweep(report.signatures):
        console.print()
        words = Counter(signature.verdict for signature in report.signatures)
        told = ", ".join(f"{number:,} {word}" for word, number in words.most_common())
        labelled(console, "updates", f"{len(report.signatures):,} traced: {told}")
        return
    for signature in report.signatures:
        console.print()
        copied(console, (signature.target, "bold"))
        if signature.refused is not None:
            labelled(console, "unknown", signature.refused)
        else:
            _origin(signature, console)
            labelled(console, "settles", settles(signature))


def draw(report: Report, console: Console) -> None:
    """Each update function with the leaves that it changes; many of them as one table."""
    if is_sweep(report.signatures):
        headings, rows = pivot(report.signatures)
        console.print()
        table(console, headings, rows)
        return
    for signature in report.signatures:
        console.print()
        _signature(signature, console)


def _signature(signature: Signature, console: Console) -> None:
    changed = [leaf for leaf in signature.leaves if _changes(leaf)]
    same = len(signature.leaves) - len(changed)
    say(console, (signature.target, "bold"), (f"  executed and traced, {signature.setting}", ""))
    if signature.refused is not None:
        return
    if signature.loop_error:
        labelled(console, "in a scan", telling(signature.loop_error))
    if signature.compilations:
        many = counted(signature.compilations, "program")
        labelled(console, "compiled", f"{many}, by the target itself while it built the state")
    labelled(console, "unchanged", f"{same} of {counted(len(signature.leaves), 'leaf', 'leaves')}")
    if changed:
        rows = [_row(leaf, console.width // 2) for leaf in changed[:MOST_LEAVES]]
        table(console, ("leaf", "in", "out"), rows)
    if len(changed) > MOST_LEAVES:
        say(console, f"{len(changed) - MOST_LEAVES} more leaves are in --format json")
    if signature.counters:
        table(console, COUNTER_HEADINGS, counter_rows(signature), numbers="  r rr")
        if signature.calls_per_second is None and any(each.calls is not None for each in signature.counters):
            say(console, "times of counters want --calls-per-second")


def _origin(signature: Signature, console: Console) -> None:
    """Which call it is, what was taken for state, and what was supposed."""
    if signature.call is not None:
        labelled(console, "call", call_told(signature.call))
        if signature.call.others:
            labelled(console, "others", "; ".join(signature.call.others))
    if signature.data or signature.state_seen or len(signature.state_parts) > 1:
        labelled(console, "state", parts_told(signature))
    for note in signature.notes:
        labelled(console, "traced", note)


def call_told(call: Recorded) -> str:
    """As in "train.py:40 (train_step), jit, 3 calls seen"; of a count, which of them compiled."""
    stated = f"{call.place}, {call.kind}, {counted(call.calls, 'call')} seen"
    if not call.counted:
        return stated
    made = len(call.compiled)
    which = [str(index + 1) for index, compiled in enumerate(call.compiled) if compiled]
    missed = [str(index + 1) for index, why in enumerate(call.missed) if why is not None]
    log = "" if call.kind != "jit" else f"; JAX's log of cache misses {_agrees(which, missed)}"
    return f"{stated}; of {made} made, {len(which)} compiled: {', '.join(which) or 'none'}{log}"


def _agrees(compiled: list[str], missed: list[str]) -> str:
    return "agrees" if compiled == missed else f"has {', '.join(missed) or 'none'}"


def parts_told(signature: Signature) -> str:
    """As in "params, opt_state (seen in the next call); data: batch"."""
    data = f"; data: {', '.join(signature.data)}" if signature.data else ""
    seen = [name for name in signature.state_parts if name in signature.state_seen]
    others = [name for name in signature.state_parts if name not in signature.state_seen]
    known = f"{', '.join(seen)} (seen in the next call)" if seen else ""
    likely = f"{', '.join(others)}{' (by structure)' if seen else ''}" if others else ""
    return f"{', '.join(filter(None, (known, likely)))}{data}"


def settles(signature: Signature) -> str:
    """After how many calls the state stays as it is."""
    if signature.raises is not None:
        return f"unknown: call {signature.raises.call} raises {signature.raises.message}"
    if signature.rounds is None:
        return "never: each call gives a state of another type, and jit compiles again"
    if signature.rounds == 0:
        return "at once: the state comes out as it went in"
    costs = f"jit compiles {signature.rounds + 1} times"
    if signature.loop_takes_it_on:
        costs = "the loop takes the state on as it comes out, and compiles nothing for it"
    return f"after {counted(signature.rounds, 'call')}: {costs}"


def telling(message: str) -> str:
    """Of what JAX says in many lines, the line with the types."""
    lines = [line.strip().removeprefix("* ") for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "type" in line and "[" in line), lines[0] if lines else "")


def _changes(leaf: LeafSignature) -> bool:
    before = (leaf.dtype_in, leaf.shape_in, leaf.weak_in)
    return before != (leaf.dtype_out, leaf.shape_out, leaf.weak_out)


def _row(leaf: LeafSignature, width: int) -> tuple[str, str, str]:
    before = side(leaf.dtype_in, leaf.shape_in, weak=leaf.weak_in)
    return cut_left(leaf.path, width), before, side(leaf.dtype_out, leaf.shape_out, weak=leaf.weak_out)


def side(dtype: str | None, shape: tuple[int, ...] | None, *, weak: bool) -> str:
    """One side of a leaf: "float32[3,4] weak"; a dash when it is not there."""
    if dtype is None:
        return DASH
    extent = "" if shape is None else f"[{','.join(map(str, shape))}]"
    return f"{dtype}{extent}{' weak' if weak else ''}"
