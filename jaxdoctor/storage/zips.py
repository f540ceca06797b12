"""Zip archives as checkpoints use them: listed strictly, never extracted, stored members reached directly.

The layout is PKWARE's APPNOTE.TXT 6.3.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Values
from jaxdoctor.storage.blobs import Blob, Inflated, Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import (
    CorruptError,
    DamagedError,
    HostileError,
    TruncatedError,
    UnsupportedError,
)

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
LOCAL_SIZE, CENTRAL_SIZE, END_SIZE, END64_SIZE, LOCATOR64_SIZE = 30, 46, 22, 56, 20
LONGEST_COMMENT = 0xFFFF
LARGEST_DIRECTORY = 64 << 20
MOST_MEMBERS = 200_000
ENCRYPTED = 1
STORED, DEFLATED = 0, 8
UTF8 = 1 << 11
MAX32, MAX16 = 0xFFFFFFFF, 0xFFFF
SIGHT = 4096
"""Bytes at each end, and of the directory, that recognition looks at."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file in an archive."""

    name: str
    method: int
    encrypted: bool
    crc: int
    packed: int
    size: int
    header: int
    """Where its local header begins."""


@dataclass(frozen=True)
class Archive:
    """The members of one archive."""

    region: Region
    members: tuple[Member, ...]
    faults: tuple[Fault, ...] = field(default=())

    def find(self, name: str) -> Member | None:
        """The member of that name."""
        return next((member for member in self.members if member.name == name), None)

    def blob(self, member: Member, budget: Budget) -> Blob:
        """Its content.

        Raises:
            UnsupportedError: it is encrypted, or compressed in a way that is not read.
            CorruptError: its local header is none.
        """
        if member.encrypted:
            raise UnsupportedError(f"the member {member.name[:200]!r} is encrypted")
        packed = self._packed(member, budget)
        if member.method == STORED:
            if member.packed != member.size:
                raise CorruptError(f"the member {member.name[:200]!r} is stored with two different sizes")
            return packed
        if member.method != DEFLATED:
            raise UnsupportedError(
                f"the member {member.name[:200]!r} is compressed by method {member.method}"
            )
        return Inflated(packed=packed, size=member.size)

    def _packed(self, member: Member, budget: Budget) -> Region:
        header = self.region.bytes(member.header, LOCAL_SIZE, budget)
        if not header.startswith(LOCAL):
            raise CorruptError(f"the member {member.name[:200]!r} has no header where the directory says")
        name, extra = struct.unpack("<HH", header[26:30])
        start = member.header + LOCAL_SIZE + name + extra
        return self.region.part(start, member.packed, f"the member {member.name[:200]!r}")


def open_archive(region: Region, budget: Budget) -> Archive:
    """Lists an archive.

    Raises:
        TruncatedError: its directory is missing, so the writer was cut off.
        HostileError: it is larger than any checkpoint's, names a member twice, or members overlap.
    """
    offset, size, count = _directory(region, budget)
    if size > LARGEST_DIRECTORY or count > MOST_MEMBERS:
        raise HostileError(f"{region.path.name} has a directory of {count:,} members in {size:,} bytes")
    if offset + size > region.size:
        raise CorruptError(f"{region.path.name} has its directory beyond its end")
    content = region.bytes(offset, size, budget)
    with region.reading(budget) as read_at:
        behind = read_at(offset + size, len(END))
    if behind not in (END, END64):
        # The end of an archive within the archive, whose places count from its own beginning.
        raise TruncatedError(f"{region.path.name} is cut off: it ends before its zip directory")
    members = tuple(_members(content, region.path))
    if len(members) != count:
        raise CorruptError(f"{region.path.name} lists {len(members)} members and announces {count}")
    _insist_apart(members, offset, region.path)
    return Archive(region, members, tuple(_escapes(members, region.path)))


def _directory(
    region: Region, budget: Budget, reach: int = END_SIZE + LONGEST_COMMENT
) -> tuple[int, int, int]:
    """Where the directory is, its bytes, and its entries; looked for within `reach` of the end."""
    wanted = min(region.size, reach)
    tail = region.bytes(region.size - wanted, wanted, budget)
    place = tail.rfind(END)
    if place < 0 or len(tail) - place < END_SIZE:
        raise TruncatedError(f"{region.path.name} is cut off: it ends before its zip directory")
    count, size, offset = struct.unpack("<HII", tail[place + 10 : place + 20])
    if MAX32 not in (size, offset) and count != MAX16:
        return offset, size, count
    return _directory64(region, region.size - wanted + place, budget) or (offset, size, count)


def _directory64(region: Region, end: int, budget: Budget) -> tuple[int, int, int] | None:
    if end < LOCATOR64_SIZE:
        return None
    locator = region.bytes(end - LOCATOR64_SIZE, LOCATOR64_SIZE, budget)
    if not locator.startswith(LOCATOR64):
        return None
    (place,) = struct.unpack("<Q", locator[8:16])
    record = region.part(place, END64_SIZE, "the zip64 directory").bytes(0, END64_SIZE, budget)
    if not record.startswith(END64):
        raise CorruptError(f"{region.path.name} has no zip64 directory where it says")
    count, size, offset = struct.unpack("<QQQ", record[32:56])
    return offset, size, count


def _members(content: bytes, path: Path) -> Iterator[Member]:
    place = 0
    while place < len(content):
        entry = content[place : place + CENTRAL_SIZE]
        if len(entry) < CENTRAL_SIZE or not entry.startswith(CENTRAL):
            raise CorruptError(f"{path.name} has a broken entry in its directory")
        flags, method = struct.unpack("<HH", entry[8:12])
        crc, packed, size, name, extra, comment = struct.unpack("<IIIHHH", entry[16:34])
        (header,) = struct.unpack("<I", entry[42:46])
        begin = place + CENTRAL_SIZE
        place = begin + name + extra + comment
        if place > len(content):
            raise CorruptError(f"{path.name} has a broken entry in its directory")
        plain = Member(
            name=_decoded(content[begin : begin + name], "utf-8" if flags & UTF8 else "cp437"),
            method=method,
            encrypted=bool(flags & ENCRYPTED),
            crc=crc,
            packed=packed,
            size=size,
            header=header,
        )
        yield _widened(plain, content[begin + name : begin + name + extra])


def _widened(member: Member, extra: bytes) -> Member:
    """The member with the 64-bit sizes that stand in its extra field, when it needs them."""
    names = [name for name in ("size", "packed", "header") if getattr(member, name) == MAX32]
    if not names:
        return member
    place = 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack("<HH", extra[place : place + 4])
        if kind == 1:
            held = extra[place + 4 : place + 4 + size]
            numbers = struct.unpack(f"<{len(held) // 8}Q", held[: len(held) // 8 * 8])
            wide: dict[str, Any] = dict(zip(names, numbers, strict=False))
            return replace(member, **wide)
        place += 4 + size
    return member


def _decoded(name: bytes, encoding: str) -> str:
    """A member's name. Nearly all are plain, and loading the table of cp437 is seen in a small scan."""
    return name.decode("ascii" if name.isascii() else encoding, "replace")


def _insist_apart(members: tuple[Member, ...], directory: int, path: Path) -> None:
    """Overlapping members are how a small archive becomes petabytes (https://www.bamsoftware.com/hacks/zipbomb/)."""
    ordered = sorted(members, key=lambda member: member.header)
    if len({member.name for member in members}) != len(members):
        raise HostileError(f"{path.name} names a member twice")
    ends = [*(member.header for member in ordered[1:]), directory]
    for member, end in zip(ordered, ends, strict=True):
        if member.header + LOCAL_SIZE + member.packed > end:
            raise HostileError(f"{path.name} has members that overlap, {member.name[:200]!r} and the next")


def _escapes(members: tuple[Member, ...], path: Path) -> Iterator[Fault]:
    for member in members:
        parts = member.name.replace("\\", "/").split("/")
        if member.name.startswith(("/", "\\")) or ".." in parts:
            yield Fault(
                kind="hostile-content",
                message=f"the member {member.name[:200]!r} would be extracted outside of its folder",
                path=str(path),
            )


def checked(values: Values, crc: int, before: bytes) -> Values:
    """Values whose stream insists, at its end, on the CRC-32 of all bytes: those `before` and its own."""

    def stream() -> Iterator[Any]:
        running = zlib.crc32(before)
        for piece in values.stream():
            running = zlib.crc32(piece.view("uint8"), running)
            yield piece
        if running != crc:
            raise CorruptError(f"the checksum is {running:08x} and should be {crc:08x}")

    return Values(stream=stream, sample=values.sample)


def glimpsed_names(found: Candidate) -> list[str]:
    """Some members' names, from a few KiB: of the first one, and of the first in the directory."""
    if not found.head.startswith(LOCAL):
        return []
    if "zip" not in found.answers:
        found.answers["zip"] = _glimpsed(found)
    names: list[str] = found.answers["zip"]
    return names


def _glimpsed(found: Candidate) -> list[str]:
    head = found.head
    names = [_name_at(head, 26, LOCAL_SIZE)]
    try:
        region = whole_file(found.path)
        offset, size, _ = _directory(region, Budget(), SIGHT)
        with region.reading(Budget()) as read_at:
            listed = read_at(offset, min(size, SIGHT))
    except DamagedError:
        return names
    place = 0
    while listed.startswith(CENTRAL, place) and place + CENTRAL_SIZE <= len(listed):
        names.append(_name_at(listed, place + 28, place + CENTRAL_SIZE))
        place += CENTRAL_SIZE + sum(struct.unpack("<HHH", listed[place + 28 : place + 34]))
    return names


def _name_at(content: bytes, length_at: int, begin: int) -> str:
    length = int.from_bytes(content[length_at : length_at + 2], "little")
    return content[begin : begin + length].decode("utf-8", "replace")
