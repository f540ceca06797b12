"""Files numbered k of n, "model-00002-of-00004.safetensors", and which of them are not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d{1,6})-of-(?P<count>\d{1,6})(?P<ending>.*)")
MOST = 100_000
"""Beyond it a count is no number of files."""


@dataclass(frozen=True)
class Numbered:
    """One set of files of which each says how many there are."""

    present: tuple[str, ...]
    missing: tuple[str, ...]
    """Their names."""


def numbered(names: Iterable[str], *, first: int | None = None) -> list[Numbered]:
    """Every set among the names, whole or not; counted from `first`, or else from what is there."""
    sets: dict[tuple[str, str, str], dict[int, re.Match[str]]] = {}
    for name in names:
        found = NUMBERED.fullmatch(name)
        if found is not None and 0 < int(found["count"]) <= MOST:
            key = found["stem"], found["count"], found["ending"]
            sets.setdefault(key, {})[int(found["number"])] = found
    return [_of(members, int(count), first) for (_, count, _), members in sorted(sets.items())]


def _of(members: dict[int, re.Match[str]], count: int, first: int | None) -> Numbered:
    if first is None:
        first = 0 if 0 in members else 1
    lacking = [number for number in range(first, first + count) if number not in members]
    example = next(iter(members.values()))
    width = len(example["number"])
    names = (
        f"{example['stem']}{number:0{width}d}-of-{example['count']}{example['ending']}" for number in lacking
    )
    present = tuple(found.string for _, found in sorted(members.items()))
    return Numbered(present, tuple(names))
