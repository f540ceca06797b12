"""Opens a bundle as one opens a stranger's checkpoint: bounded, executing nothing, leaving no folder.

Every member is named in the manifest with its size and SHA-256, and nothing else may be in the file. What is
wrong is one error that says so; there is no half of a bundle.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxdoctor.bundles.bundle import (
    COMPILED,
    CONTROL,
    FILES,
    MANIFEST,
    MOST_BYTES,
    MOST_INFLATED,
    POLICY,
    SCHEMA,
    STEPS,
    Bundle,
    Failure,
    PackedArray,
    PackedModel,
    PackedPolicy,
)
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.storage.blobs import held, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError
from jaxdoctor.storage.elements import LETTERS, WIDTHS
from jaxdoctor.storage.files import inside
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.npy import read_record
from jaxdoctor.storage.zips import Archive, Member, open_archive

LARGEST_MANIFEST = 4 << 20
MOST_MEMBERS = 20_000
LONGEST_TEXT = 4096

WORDS = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A system's name: it becomes that of a module."""

KIND = re.compile(r"[a-z][a-z0-9-]{0,63}")
"""A kind of policy, likewise."""

DEEPEST = 64
"""Keys that lead to an array of a policy."""


def read(path: Path) -> Bundle:
    """The bundle in a file.

    Raises:
        UsageError: there is no such file.
        UnreadableError: it is no bundle, or is damaged or hostile.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist", hint="write one with probe --bundle FILE")
    try:
        return _Reading(path).bundle()
    except UnreadableError as error:
        raise UnreadableError(
            f"{path} is no bundle that can be used: {error}",
            hint="copy it again, or have it written again: probe --bundle FILE",
        ) from error


class _Reading:
    """One file on its way."""

    def __init__(self, path: Path) -> None:
        self.budget = Budget(memory=MOST_INFLATED)
        region = whole_file(path)
        if region.size > MOST_BYTES:
            raise HostileError(f"it has {region.size:,} bytes, and a bundle has {MOST_BYTES:,} at most")
        self.archive: Archive = open_archive(region, self.budget)
        self.members = {member.name: member for member in self.archive.members}
        if self.archive.faults:
            raise HostileError(self.archive.faults[0].message)
        if len(self.members) > MOST_MEMBERS:
            raise HostileError(f"it has {len(self.members)} members")
        if sum(member.size for member in self.members.values()) > MOST_INFLATED:
            raise HostileError(f"its members are larger than {MOST_INFLATED:,} bytes together")

    def bundle(self) -> Bundle:
        manifest = self._manifest()
        parts = self._parts(_Object(manifest, "the manifest").object("parts"))
        return _bundle(_Object(manifest, "the manifest"), parts)

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self.members:
            raise CorruptError(f"it has no {MANIFEST}")
        if self.members[MANIFEST].size > LARGEST_MANIFEST:
            raise HostileError(f"its {MANIFEST} is larger than any")
        found = parse(self._content(self.members[MANIFEST]), self.budget, MANIFEST, unique=True)
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            named = str(found.get("schema"))[:80] if isinstance(found, dict) else "none"
            raise CorruptError(f"its schema is {named}, and {SCHEMA} is read")
        return found

    def _parts(self, declared: _Object) -> dict[str, bytes]:
        """Every other member, whole and as its writer wrote it."""
        if set(declared.values) != set(self.members) - {MANIFEST}:
            odd = sorted(set(declared.values) ^ (set(self.members) - {MANIFEST}))
            raise CorruptError(f"its manifest and its members differ in {odd[0][:200]!r}")
        found = {}
        for name in declared.values:
            inside(Path("/bundle"), name)
            said, member = declared.object(name), self.members[name]
            if said.number("size") != member.size:
                raise CorruptError(
                    f"the member {name[:200]!r} has {member.size:,} bytes, not what is declared"
                )
            found[name] = self._content(member)
            if hashlib.sha256(found[name]).hexdigest() != said.text("sha256"):
                raise CorruptError(f"the member {name[:200]!r} is not what its SHA-256 says")
        return found

    def _content(self, member: Member) -> bytes:
        blob = self.archive.blob(member, self.budget)
        with blob.reading(self.budget) as read_at:
            found: bytes = read_at(0, member.size)
            if len(found) != member.size or read_at(member.size, 1):
                raise CorruptError(f"the member {member.name[:200]!r} has not the size that is declared")
        return found


def _bundle(manifest: _Object, parts: Mapping[str, bytes]) -> Bundle:
    files = {name: each for name, each in parts.items() if name.startswith((COMPILED, FILES))}
    policy, arrays = _policy(manifest, parts)
    failure, first = _failure(manifest.object("failure")), manifest.number("first_step")
    steps = manifest.number("steps", least=1, most=STEPS)
    if failure.step != first + steps - 1:
        raise CorruptError(f"it records steps {first} to {first + steps - 1}, and step {failure.step} failed")
    begins = None if manifest.values.get("start_step") is None else manifest.number("start_step", most=first)
    state, start = (_members(manifest.object(name)) for name in ("state", "start"))
    named = [CONTROL, *state.values(), *start.values(), *files, *arrays]
    if manifest.text("control") != CONTROL or sorted(named) != sorted(parts):
        raise CorruptError("its manifest does not name what each member is")
    control = _array(parts[CONTROL], CONTROL, rows=failure.step - (first if begins is None else begins) + 1)
    if control.ndim != 2 or control.dtype.kind != "f":  # noqa: PLR2004 (steps x controls)
        raise CorruptError("its controls are no table of numbers")
    system = manifest.text("system")
    if not WORDS.fullmatch(system):
        raise HostileError(f"its system is {system[:80]!r}")
    return Bundle(
        written_by=manifest.text("written_by"),
        subject=manifest.text("subject"),
        system=system,
        failure=failure,
        first_step=first,
        state={leaf: _array(parts[name], leaf, rows=steps) for leaf, name in state.items()},
        start={leaf: _array(parts[name], leaf) for leaf, name in start.items()},
        start_step=begins,
        control=control,
        substeps=manifest.number("substeps", least=1, most=10_000),
        keys=manifest.texts("keys"),
        seed=manifest.number("seed", least=-(1 << 63)),
        replays=manifest.number("replays", least=1, most=1 << 24),
        model=_model(manifest, files),
        files=files,
        policy=policy,
        versions={
            name: None if each is None else str(each)[:LONGEST_TEXT]
            for name, each in manifest.object("versions").values.items()
        },
        settings={
            name: str(each)[:LONGEST_TEXT] for name, each in manifest.object("settings").values.items()
        },
        environment=None if manifest.values.get("environment") is None
        else manifest.object("environment").values,
        tool=manifest.object("tool").text("version"),
        written_at=manifest.text("written_at"),
    )  # fmt: skip


def _failure(said: _Object) -> Failure:
    return Failure(
        step=said.number("step"),
        field=said.text("field"),
        fields=said.texts("fields"),
        replay=said.number("replay"),
        precision=said.text("precision"),
        emulated=said.truth("emulated"),
        bits=None if said.values.get("bits") is None else said.number("bits", least=1, most=52),
        toward_zero=said.truth("toward_zero"),
        all_products=said.truth("all_products"),
        batch=said.number("batch", least=1, most=1 << 20),
        lanes=said.number("lanes", least=1, most=256),
        xla_flags=said.text("xla_flags"),
    )


def _model(manifest: _Object, files: Mapping[str, bytes]) -> PackedModel | None:
    if manifest.values.get("model") is None:
        if any(name.startswith((COMPILED, FILES)) for name in files):
            raise CorruptError("it holds a model of which its manifest does not know")
        return None
    said = manifest.object("model")
    main = None if said.values.get("main") is None else said.text("main")
    if main is not None and (main not in files or not main.startswith(FILES)):
        raise CorruptError(f"its model begins in {main[:200]!r}, which is not there")
    if main is None and COMPILED not in files:
        raise CorruptError("its model is neither compiled nor XML")
    left_out = None if said.values.get("left_out") is None else said.text("left_out")
    return PackedModel(mujoco=said.text("mujoco"), main=main, left_out=left_out)


def _policy(manifest: _Object, parts: Mapping[str, bytes]) -> tuple[PackedPolicy | None, list[str]]:
    """The policy and its members, none of them hidden behind another."""
    if manifest.values.get("policy") is None:
        return None, []
    said = manifest.object("policy")
    kind = said.text("kind")
    if not KIND.fullmatch(kind):
        raise HostileError(f"its policy is a {kind[:80]!r}")
    arrays: dict[tuple[str, ...], PackedArray] = {}
    members = []
    for each in said.objects("arrays"):
        member, keys, dtype = each.text("member"), each.texts("keys"), each.text("dtype")
        if not member.startswith(POLICY) or member not in parts or keys in arrays or len(keys) > DEEPEST:
            raise CorruptError(f"its policy has no array of its own in {member[:200]!r}")
        arrays[keys] = _packed_array(parts[member], member, dtype)
        members.append(member)
    inner = {keys[:depth] for keys in arrays for depth in range(len(keys))}
    if inner & set(arrays):
        raise CorruptError("an array of its policy stands where others are below it")
    packed = PackedPolicy(
        kind=kind,
        name=said.text("name"),
        network=None if said.values.get("network") is None else said.text("network"),
        config=said.object("config").values,
        arrays=arrays,
        left_out=None if said.values.get("left_out") is None else said.text("left_out"),
    )
    return packed, members


def _packed_array(content: bytes, member: str, dtype: str) -> PackedArray:
    values = _array(content, member)
    known = dtype in LETTERS.values()
    stored = dtype if known or dtype not in WIDTHS else f"uint{8 * WIDTHS[dtype]}"
    if values.dtype.name != stored:
        raise CorruptError(f"{member[:200]} holds {values.dtype.name}, and it is declared as {dtype[:80]!r}")
    return PackedArray(dtype=dtype, shape=values.shape, content=values.tobytes())


def _members(said: _Object) -> dict[str, str]:
    """The member of each leaf."""
    return {leaf: said.text(leaf) for leaf in said.values}


def _array(content: bytes, what: str, *, rows: int | None = None) -> Any:
    """An array of numbers, with so many rows where that is known.

    Raises:
        DamagedError: it is none.
    """
    import numpy as np

    with held(content, Path(MANIFEST)).reading(Budget()) as read_at:
        record = read_record(read_at, 0, what[:200])
    if record.kind is None or record.objects or record.kind.big_endian:
        raise CorruptError(f"{what[:200]} holds {record.spelled[:80]}, which is no little-endian number")
    if b"'fortran_order': True" in content[: record.start] or record.end != len(content):
        raise CorruptError(f"{what[:200]} is not laid out as a bundle's arrays are")
    if rows is not None and record.shape[:1] != (rows,):
        raise CorruptError(f"{what[:200]} has the shape {list(record.shape)}, and {rows} steps are recorded")
    return np.frombuffer(content, record.kind.numpy(), offset=record.start).reshape(record.shape)


class _Object:
    """An object of the manifest, whose values are asked for by kind."""

    def __init__(self, values: dict[str, Any], what: str) -> None:
        self.values, self.what = values, what

    def object(self, name: str) -> _Object:
        """A member that is an object."""
        return _Object(self._of(name, dict), name[:200])

    def text(self, name: str) -> str:
        """A member that is a short text."""
        found: str = self._of(name, str)
        if len(found) > LONGEST_TEXT or "\0" in found:
            raise HostileError(f"{name[:80]!r} in {self.what} is longer than any")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """A member that is a list of short texts."""
        found = self._of(name, list)
        return tuple(
            _Object(dict(enumerate(found)), name).text(index)  # type: ignore[arg-type]
            for index in range(len(found))
        )

    def objects(self, name: str) -> list[_Object]:
        """A member that is a list of objects."""
        found = self._of(name, list)
        if not all(isinstance(each, dict) for each in found):
            raise CorruptError(f"{name[:80]!r} in {self.what} is no list of objects")
        return [_Object(each, f"an entry of {name[:80]!r}") for each in found]

    def number(self, name: str, *, least: int = 0, most: int = 1 << 62) -> int:
        """A member that is an integer."""
        found = self._of(name, int)
        if isinstance(found, bool) or not least <= found <= most:
            raise CorruptError(f"{name[:80]!r} in {self.what} is {str(found)[:40]}")
        return int(found)

    def truth(self, name: str) -> bool:
        """A member that is true or false."""
        return bool(self._of(name, bool))

    def _of(self, name: Any, kind: type) -> Any:
        found = self.values.get(name)
        if not isinstance(found, kind):
            raise CorruptError(f"{str(name)[:80]!r} in {self.what} is no {kind.__name__}")
        return found
