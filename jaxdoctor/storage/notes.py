"""Collects faults, so that a folder with a million of them is told in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from jaxdoctor.facts.fault import Fault
from jaxdoctor.storage.damage import HostileError, MissingError
from jaxdoctor.storage.files import Member

Note = Callable[[Fault], None]
"""Where a fault is handed to."""

EACH = 20
"""Faults of one kind that are told one by one."""


class Notes:
    """Takes faults one after the other."""

    def __init__(self) -> None:
        self.stated: dict[str, list[Fault]] = {}
        self.more: dict[str, int] = {}

    def __call__(self, fault: Fault) -> None:
        """Takes one."""
        stated = self.stated.setdefault(fault.kind, [])
        if len(stated) < EACH:
            stated.append(fault)
        else:
            self.more[fault.kind] = self.more.get(fault.kind, 0) + 1

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All, the last of each kind saying how many were like it."""
        return tuple(fault for kind in self.stated for fault in self._of(kind))

    def _of(self, kind: str) -> list[Fault]:
        stated = self.stated[kind]
        if kind not in self.more:
            return stated
        more = self.more[kind]
        last = replace(
            stated[-1], message=f"{stated[-1].message} (and {more} more like it)", evidence={"more": more}
        )
        return [*stated[:-1], last]


def note_odd(members: Iterable[Member], notes: Notes) -> None:
    """Notes what has no place in a checkpoint's folder: FIFOs, devices, links that leave or lead nowhere."""
    for member in members:
        place = str(member.path)
        if member.kind == "missing":
            notes(MissingError(f"{member.name} is a link to nothing").fault(path=place))
        elif member.kind == "link out":
            notes(HostileError(f"{member.name} is a link that leaves the folder").fault(path=place))
        elif member.kind not in {"file", "folder"}:
            notes(HostileError(f"{member.name} is {member.kind}").fault(path=place))
