"""Looks into the members of an archive for pickles that no reader of the archive's format would open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jaxdoctor.facts.fault import Fault
from jaxdoctor.storage.blobs import Blob, first_unpacked, held, packing, unpacked
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import DamagedError, UnsupportedError, noted
from jaxdoctor.storage.npy import MAGIC, read_record
from jaxdoctor.storage.pickles.files import SIGHT, Stream, faults_of, looks_pickled, read_stream
from jaxdoctor.storage.torch.marks import LEGACY_MAGIC
from jaxdoctor.storage.torch.tensors import nested_faults
from jaxdoctor.storage.zips import LOCAL, STORED, Archive, Member, open_archive

LARGEST_HELD = 64 << 20
"""Bytes of a compressed member within which another compressed file or archive is looked for."""

MOST_MEMBERS = 10_000
"""Members that are looked at: more are in archives of images."""

DEEPEST = 3
"""Archives within archives."""


def opened(archive: Archive, member: Member, budget: Budget) -> Blob:
    """A member's content. A mark of encryption is not believed where the content shows that it is none.

    Raises:
        UnsupportedError: it is encrypted, or compressed in a way that is not read.
    """
    if not member.encrypted:
        return archive.blob(member, budget)
    plain = replace(member, encrypted=False)
    if plain.method == STORED and plain.packed == plain.size:
        blob = archive.blob(plain, budget)
        if is_pickled(_head(blob, budget), member.size):
            return blob
    raise UnsupportedError(f"the member {member.name[:200]!r} is encrypted")


def is_pickled(head: bytes, size: int) -> bool:
    """Whether a member that begins so is a pickle, a compressed one, an array of objects, or an archive."""
    if head.startswith((LEGACY_MAGIC, LOCAL)) or looks_pickled(head, size):
        return True
    if head.startswith(MAGIC):
        return b"'O'" in head or b"|O" in head
    return packing(head) is not None and looks_pickled(first_unpacked(head, SIGHT), 1 << 62)


def pickled_members(archive: Archive, budget: Budget) -> Iterator[tuple[Member, Blob]]:
    """The members in which a pickle stands.

    What is encrypted or broken is passed over: readers tell of that.
    """
    for member in archive.members[:MOST_MEMBERS]:
        if member.size:
            try:
                blob = opened(archive, member, budget)
                head = _head(blob, budget)
            except DamagedError:
                continue
            if is_pickled(head, member.size):
                yield member, blob


def streams_in(
    member: Member, blob: Blob, budget: Budget, depth: int = DEEPEST
) -> Iterator[tuple[str, Stream, Blob]]:
    """The pickles in a member, each with its name and what it lies in: several where it is an archive itself.

    Raises:
        DamagedError: it is broken.
    """
    head = _head(blob, budget)
    if head.startswith(LOCAL):
        inner = open_archive(held(_whole(blob, member, budget), blob.path), budget)
        for one, content in pickled_members(inner, budget) if depth > 0 else ():
            yield from streams_in(replace(one, name=f"{member.name}/{one.name}"), content, budget, depth - 1)
        return
    start = 0
    if packing(head) is not None:
        blob = unpacked(held(_whole(blob, member, budget), blob.path), head)
    elif head.startswith(MAGIC):
        with blob.reading(budget) as read_at:
            start = read_record(read_at, 0, member.name).start
    yield member.name, read_stream(blob, budget, start=start), blob


def member_faults(member: Member, blob: Blob, budget: Budget) -> list[Fault]:
    """What the pickles in a member are found to ask for."""
    faults: list[Fault] = []
    with noted(faults.append, path=str(blob.path)):
        for name, stream, content in streams_in(member, blob, budget):
            faults += faults_of(stream, blob.path, f"the pickle in {name[:200]}")
            faults += nested_faults(stream, content, budget)
    return faults


def _head(blob: Blob, budget: Budget) -> bytes:
    with blob.reading(budget) as read_at:
        head: bytes = read_at(0, SIGHT)
    return head


def _whole(blob: Blob, member: Member, budget: Budget) -> bytes:
    if member.size > LARGEST_HELD:
        raise UnsupportedError(f"the member {member.name[:200]!r} is too large to be looked into")
    budget.allow(member.size, "a member of an archive")
    with blob.reading(budget) as read_at:
        content: bytes = read_at(0, member.size)
    return content
