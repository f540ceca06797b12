"""Files that hold pickles one after the other: recognised, walked, and turned into leaves."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.facts.checkpoint import Fault
from jaxdoctor.storage.blobs import Blob
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.pickles.literals import LITERALS
from jaxdoctor.storage.pickles.machine import OPERATIONS, Pickled, read_pickle
from jaxdoctor.storage.pickles.source import Cursor
from jaxdoctor.storage.pickles.tree import MOST_LEAVES, Recognize, Tree, walk

SIGHT = 4096
"""Bytes that recognition looks at."""

SHARE = 2
"""Half of the allowance is for a pickle's objects, the rest for what reads them."""

MOST_PICKLES = 10_000
LISTED = 50
"""Names of what a pickle wanted to call that a report can bear."""

OPCODES = OPERATIONS.keys() | LITERALS.keys()
_FIRST_NAME = re.compile(rb"c[A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n")
_OPENINGS = b"(]}c)"
_PLAUSIBLE = 4
"""Values that a text would have to build by chance to be taken for a pickle of protocol 0."""


@dataclass
class Stream:
    """All pickles of one file."""

    pickles: list[Pickled] = field(default_factory=list)
    damage: list[DamagedError] = field(default_factory=list)
    """Why the bytes themselves could not be read on."""

    trailing: int = 0
    """Bytes behind the last pickle that are none."""

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
    if head[0] == 0x80:  # noqa: PLR2004 (PROTO)
        return head[1] <= 5 and len(head) > 2 and head[2] in OPCODES  # noqa: PLR2004
    if head[:1] not in [bytes([letter]) for letter in _OPENINGS]:
        return False
    if head[:1] == b"c" and not _FIRST_NAME.match(head):
        return False
    found = read_pickle(Cursor(lambda offset, wanted: head[offset : offset + wanted], len(head)), 1 << 24)
    if found.complete:
        return True
    return found.truncated and size > len(head) and (len(found.rest) >= _PLAUSIBLE or bool(found.names))


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
    left = cursor.left
    first = cursor.byte()
    if first < 0:
        return False
    cursor.back()
    found = read_pickle(cursor, budget.memory // SHARE) if first in OPCODES else Pickled()
    if stream.pickles and not found.complete and not found.names:
        stream.trailing = left
        return False
    stream.pickles.append(found)
    return found.complete


def faults_of(stream: Stream, path: Path, what: str = "the pickle") -> list[Fault]:
    """What in these pickles is dangerous or broken."""
    faults = [error.fault(path=str(path)) for error in stream.damage]
    for one in stream.pickles:
        for name, reason in list(one.dangers.items())[:LISTED]:
            called = one.calls[name]
            faults.append(
                Fault(
                    kind="hostile-content",
                    message=f"{what} {'calls' if called else 'names'} {name[:200]}: {reason[:300]}",
                    path=str(path),
                    evidence={"name": name[:200], "calls": called, "names": one.names[name]},
                )
            )
        if one.error is not None:
            faults.append(
                Fault(
                    kind="truncated-file" if one.truncated else "corrupt-data",
                    message=f"{what} breaks at byte {one.end}: {one.error}",
                    path=str(path),
                    evidence={"offset": one.end},
                )
            )
    return faults


def wanted_calls(stream: Stream) -> list[str]:
    """What the pickles would have called, most often first."""
    calls: Counter[str] = Counter()
    for one in stream.pickles:
        calls.update(one.calls)
    return [name[:200] for name, _ in calls.most_common(LISTED)]


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
