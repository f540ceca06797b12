"""Damages checkpoints in every way a disk, a copy or an enemy does, and insists that readers stay calm.

A reader's test says `@given(damage())`, copies a real checkpoint with `damaged`, and calls `insist_calm`.
"""

import contextlib
import json
import resource
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows

PIECES = 64
"""Pieces of a leaf that are streamed at most: real test files are smaller, only a bomb has more."""

CALM = settings(
    max_examples=100,
    deadline=20_000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)


KINDS = ["truncate", "flip", "flip", "flip", "json", "json", "overwrite", "delete", "rename", "append"]

ODD = [
    None,
    -1,
    1 << 70,
    1.5,
    True,
    "",
    "x" * 99,
    "../x",
    [],
    [[]],
    [-1, None],
    {},
    {"name": 3},
    float("nan"),
]
"""What an enemy writes into JSON where something else belongs."""


@dataclass(frozen=True)
class Damage:
    """One thing that happens to one file of a checkpoint. Places are fractions, so that they fit any file."""

    kind: str
    member: float
    place: float
    payload: bytes


def damage() -> st.SearchStrategy[list[Damage]]:
    """Between one and three things that happen."""
    one = st.builds(
        Damage,
        kind=st.sampled_from(KINDS),
        member=st.floats(0, 1, exclude_max=True),
        place=st.floats(0, 1, exclude_max=True),
        payload=st.binary(min_size=1, max_size=64),
    )
    return st.lists(one, min_size=1, max_size=3)


@contextlib.contextmanager
def damaged(original: Path, happened: list[Damage]) -> Iterator[Path]:
    """A copy of a file or a folder to which all that has happened."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / original.name
        if original.is_dir():
            shutil.copytree(original, copy, symlinks=True)
        else:
            shutil.copyfile(original, copy)
        for one in happened:
            _befall(copy, one)
        yield copy


def _befall(copy: Path, one: Damage) -> None:
    files = sorted(path for path in copy.rglob("*") if path.is_file()) if copy.is_dir() else [copy]
    if not files:
        return
    path = files[int(one.member * len(files))]
    if one.kind == "delete":
        if path != copy:
            path.unlink()
    elif one.kind == "rename":
        if path != copy:
            path.rename(path.with_name(f"{path.name}.{one.payload[:4].hex()}"))
    elif path.exists():
        path.write_bytes(_changed(path.read_bytes(), one))


def _changed(content: bytes, one: Damage) -> bytes:
    place = int(one.place * len(content))
    if one.kind == "truncate":
        return content[:place]
    if one.kind == "json":
        return _json_changed(content, one)
    if one.kind == "append":
        return content + one.payload
    if one.kind == "overwrite":
        return content[:place] + one.payload + content[place + len(one.payload) :]
    if not content:
        return one.payload
    return content[:place] + bytes([content[place] ^ (1 << one.payload[0] % 8)]) + content[place + 1 :]


def _json_changed(content: bytes, one: Damage) -> bytes:
    """The same JSON with one value replaced by an odd one; other content as it was."""
    try:
        whole = json.loads(content)
    except ValueError:
        return content
    places = list(_places(whole))
    if not places:
        return content
    container, key = places[int(one.place * len(places))]
    container[key] = ODD[one.payload[0] % len(ODD)]
    return json.dumps(whole).encode()


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from _places(below)


def insist_calm(reader: Reader, path: Path, *, memory: int = 64 << 20) -> Checkpoint | None:
    """Recognizes, reads, samples and streams. Whatever the file holds, only our own error may come out.

    `memory` is the scan's allowance; the whole process may not grow by more than that and what the first
    import of a library takes.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    knows(reader, path)
    try:
        checkpoint = checkpoint_of(reader, path, Budget(memory=memory))
    except UnreadableError:
        checkpoint = None
    for leaf in checkpoint.leaves if checkpoint else ():
        if leaf.values is None:
            continue
        with contextlib.suppress(UnreadableError):
            assert leaf.values.sample(4096).nbytes <= 4096
        with contextlib.suppress(UnreadableError):
            for piece in islice(leaf.values.stream(), PIECES):
                assert piece.nbytes <= 16 << 20
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10

    assert grown < memory + (128 << 20)
    return checkpoint
