"""Files that hold pickles one after the other: recognised, walked, and turned into leaves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.blobs import Blob
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.pickles.literals import LITERALS
from jaxdoctor.storage.pickles.machine import HIGHEST_PROTOCOL, OPERATIONS, Pickled, read_pickle
from jaxdoctor.storage.pickles.source import Cursor
from jaxdoctor.storage.pickles.tree import MOST_LEAVES, Recognize, Tree, walk

SIGHT = 4096
"""Bytes that recognition looks at."""

SHARE = 2
"""Half of the allowance is for a pickle's objects, the rest for what reads them."""

MOST_PICKLES = 10_000
LISTED = 50
"""Findings of one kind that a report can bear."""

SHOWN = 3
"""Names that one line shows."""

MOST_CALLS = 10_000

OPCODES = OPERATIONS.keys() | LITERALS.keys()
_FIRST_NAME = re.compile(rb"c[A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n")
_OPENINGS = frozenset({b"(", b"]", b"}", b"c", b")"})
_IMPORTABLE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.<>]*")
"""A name that can be imported: in a text, what stands behind an opcode's letter is a sentence."""

_NEVER_FIRST = frozenset({b"i", b"P"})
"""INST needs a mark before it, PERSID a function that finds objects: no unpickler goes on behind either.

"import sys" begins with the first, every zip archive with the second.
"""

PROTO = 0x80
_PLAUSIBLE = 4
"""Values that a text would have to build by chance to be taken for a pickle of protocol 0."""


@dataclass
class Stream:
    """All pickles of one file."""

    pickles: list[Pickled] = field(default_factory=list)
    damage: list[DamagedError] = field(default_factory=list)
    """Why the bytes themselves could not be read on."""

    @property
    def roots(self) -> list[Any]:
        """What was built: of a pickle that is cut off, the parts that stood on its stack."""
        return [
            root
            for one in self.pickles
            for root in ([one.root] if one.complete else [item for item in one.rest if item is not None])
        ]


def looks_pickled(head: bytes, size: int) -> bool:
    """Whether a file of `size` bytes that begins so is a pickle, of any protocol."""
    if len(head) < 2:  # noqa: PLR2004 (the shortest pickle: one value and STOP)
        return False
    if head[0] == PROTO:
        return head[1] <= HIGHEST_PROTOCOL and len(head) > 2 and head[2] in OPCODES  # noqa: PLR2004
    odd = head[:1] in _NEVER_FIRST or (head[:1] == b"c" and not _FIRST_NAME.match(head))
    if head[0] not in OPCODES or odd:
        return False
    found = read_pickle(Cursor(lambda offset, wanted: head[offset : offset + wanted], len(head)), 1 << 24)
    cut = found.truncated and size > len(head)
    names = [name for name in found.names if _IMPORTABLE.fullmatch(name)]
    if any(name in names for name in found.dangers):
        return True
    if head[:1] in _OPENINGS:
        return found.complete or bool(found.calls) or (cut and (len(found.rest) >= _PLAUSIBLE or bool(names)))
    # A text begins with such a letter, too; calls do not come about by chance.
    return bool(found.calls) or (found.complete and bool(names)) or (cut and bool(names))


def may_be_pickled(head: bytes) -> bool:
    """Whether a file that is called a pickle may be one: all that was read of it are opcodes."""
    if not head or head[0] not in OPCODES:
        return False
    found = read_pickle(Cursor(lambda offset, wanted: head[offset : offset + wanted], len(head)), 1 << 24)
    return found.truncated or found.complete


def read_stream(blob: Blob, budget: Budget, *, start: int = 0, most: int = MOST_PICKLES) -> Stream:
    """Every pickle from `start` on, since a payload may hide in the second."""
    stream = Stream()
    try:
        with blob.reading(budget) as read_at:
            cursor = Cursor(read_at, blob.size, start=start)
            while len(stream.pickles) < most and _read_next(cursor, stream, budget):
                pass
    except DamagedError as error:
        stream.damage.append(error)
    return stream


def _read_next(cursor: Cursor, stream: Stream, budget: Budget) -> bool:
    """Adds the pickle that begins here. False when none does, or when it breaks."""
    first = cursor.byte()
    if first < 0:
        return False
    cursor.back()
    found = read_pickle(cursor, budget.memory // SHARE) if first in OPCODES else Pickled()
    if stream.pickles and not found.complete and not found.names:
        return False
    stream.pickles.append(found)
    return found.complete


def faults_of(stream: Stream, path: Path, what: str = "the pickle") -> list[Fault]:
    """What in these pickles is dangerous or broken, carried as code, or not known."""
    faults = [error.fault(path=str(path)) for error in stream.damage]
    for one in stream.pickles:
        faults += _dangers(one, path, what)
        if one.limited:
            faults.append(
                Fault(
                    kind="unsupported-leaf",
                    message=f"{what} builds more objects than may be held, so only the first are judged",
                    path=str(path),
                    evidence={"hint": "raise --max-memory"},
                )
            )
        if one.error is not None:
            faults.append(
                Fault(
                    kind=_kind_of_error(one),
                    message=_broken(what, one),
                    path=str(path),
                    evidence={"offset": one.end},
                )
            )
    return [*faults, *_carried(stream, path, what), *_unknown(stream, path, what)]


def _broken(what: str, one: Pickled) -> str:
    if one.truncated and not one.limited:
        return f"{what} is cut off after {counted(one.end, 'byte')}"
    return f"{what} cannot be followed beyond byte {one.end}: {one.error}"


def _kind_of_error(one: Pickled) -> str:
    if one.limited:
        return "unsupported-leaf"
    return "truncated-file" if one.truncated else "corrupt-data"


def _dangers(one: Pickled, path: Path, what: str) -> Iterator[Fault]:
    for name, reason in list(one.dangers.items())[:LISTED]:
        call = one.judged.calls.get(name)
        stated = f"would call {call}" if call else f"names {name[:200]}"
        evidence = {"name": name[:200], "calls": one.calls[name], "names": one.names[name]}
        yield Fault(
            kind="hostile-content",
            message=f"{what} {stated}: {reason[:300]}",
            path=str(path),
            evidence=evidence | ({"call": call} if call else {}),
        )


def _carried(stream: Stream, path: Path, what: str) -> Iterator[Fault]:
    """Functions saved as code, by cloudpickle or dill: they do what the file says once they are called."""
    names = _together(one.judged.carried for one in stream.pickles)
    if names:
        yield Fault(
            kind="carried-code",
            message=f"{what} carries functions as code ({_listed(names)}): a call of one runs what it says",
            path=str(path),
            evidence={"names": dict(names.most_common(LISTED))},
        )


def _unknown(stream: Stream, path: Path, what: str) -> Iterator[Fault]:
    names = _together(one.judged.unknown for one in stream.pickles)
    for one in stream.pickles:
        for name in one.dangers:
            names.pop(name[:200], None)
    if names:
        yield Fault(
            kind="unknown-classes",
            message=f"{what} names {_count(len(names))} not known: {_listed(names)}",
            path=str(path),
            evidence={"names": dict(names.most_common(LISTED))},
        )


def _together(counted: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counted:
        total.update(one)
    return Counter({name[:200]: count for name, count in total.items()})


def _listed(names: Counter[str]) -> str:
    shown = ", ".join(name.replace(":", ".") for name, _ in names.most_common(SHOWN))
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def _count(number: int) -> str:
    return f"{number} classes or functions that are" if number > 1 else "1 class or function that is"


def wanted_calls(stream: Stream) -> list[str]:
    """What the pickles would have called, most often first."""
    calls: Counter[str] = Counter()
    for one in stream.pickles:
        calls.update(one.calls)
    return [name[:200] for name, _ in calls.most_common(MOST_CALLS)]


def tree_of(stream: Stream, recognize: Recognize, *, prefix: str = "") -> Tree:
    """The leaves of all roots; where there are several, paths begin with their number."""
    tree = Tree()
    roots = stream.roots
    for index, root in enumerate(roots):
        number = str(index) if len(roots) > 1 else ""
        walk(root, recognize, tree, prefix="/".join(part for part in (prefix, number) if part))
        if len(tree.leaves) >= MOST_LEAVES:
            break
    return tree
