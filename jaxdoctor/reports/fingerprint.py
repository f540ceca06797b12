"""What a finding is recognised by in a later run: its rule and its place, not its numbers or its line.

A place is named from a folder that does not move: the configuration's, else the repository's root. So
the working folder decides nothing. A file that moved is recognised by what is in it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.facts.finding import Finding, Ignored
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.excerpt import with_source

LETTERS = 32
"""Of a SHA-256 digest in hexadecimal: 128 bits, so that no two findings share one by chance."""

SAMPLE_BYTES = 1 << 16
"""Of each file, so many bytes at its beginning and at its end stand for its content, beside its size."""

MOST_FILES = 200
"""Of a folder, in the order of their names."""


WORKSPACE = "GITHUB_WORKSPACE"
"""Where GitHub's runner keeps the repository, also one that came without its `.git`."""


@dataclass(frozen=True)
class Folders:
    """Where names start from."""

    base: Path
    """Fingerprints, baselines and `ignore: path`: the configuration's folder, else the repository's root."""

    root: Path
    """Services that show findings beside the code: the repository's root."""


def folders(configuration: Path | None) -> Folders:
    """The folders that names start from, whatever the working folder is."""
    working = Path.cwd()
    own = working if configuration is None else Path(os.path.abspath(configuration)).parent  # noqa: PTH100 (links stay)
    root = repository(own)
    workspace = Path(os.environ.get(WORKSPACE) or "/nowhere")
    top = root or (workspace if own.is_relative_to(workspace) else working)
    return Folders(base=(root or own) if configuration is None else own, root=top)


def repository(folder: Path) -> Path | None:
    """The nearest folder upwards that holds a `.git`; None: there is none."""
    # `Path.exists` raises where a folder cannot be searched.
    return next((place for place in (folder, *folder.parents) if os.path.exists(place / ".git")), None)  # noqa: PTH110


def placed(report: Report, where: Folders) -> Report:
    """The report with every finding's file and fingerprints."""
    return replace(
        report,
        root=str(where.root),
        findings=tuple(_placed(finding, where) for finding in report.findings),
        ignored=tuple(Ignored(_placed(one.finding, where), one.reason) for one in report.ignored),
    )


def _placed(finding: Finding, where: Folders) -> Finding:
    if finding.fingerprint is not None:
        return finding
    path = finding.location.path
    is_file = path is not None and os.path.lexists(path)
    file = seen_from(where.root, path) if is_file and path is not None else None
    content = content_of(path) if is_file and path is not None else None
    return replace(
        finding,
        location=replace(with_source(finding.location) if is_file else finding.location, file=file),
        fingerprint=_digest(finding, name_from(where.base, path)),
        content=None if content is None else _digest(finding, content),
    )


def fingerprint(finding: Finding) -> str:
    """The same for the same rule in the same place."""
    return finding.fingerprint or _digest(finding, finding.location.path)


def _digest(finding: Finding, place: str | None) -> str:
    # Words in the evidence, such as the name of a flag, distinguish what one rule finds in one place. Numbers
    # do not: a NaN count that grows is no new finding. Lines and steps move, and so do names of files.
    words = {
        name: value
        for name, value in finding.evidence.items()
        if isinstance(value, str) and not _is_path(value)
    }
    text = json.dumps([finding.code, place, finding.location.leaf, words], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


def _is_path(text: str) -> bool:
    try:
        return os.path.lexists(text)
    except ValueError:  # a NUL
        return False


def name_from(base: Path, path: str | None) -> str | None:
    """What names the place: a file as seen from the base, anything else as it is called."""
    if path is None or not _is_path(path):
        return path if path is None else path.replace("\\", "/")
    return seen_from(base, path)


def seen_from(base: Path, path: str) -> str:
    """The path from a folder on, with forward slashes. An absolute one outside of it stays absolute."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (the name of a link stays)
    for start in (base, base.resolve()):
        for end in (whole, whole.parent.resolve() / whole.name):
            if end.is_relative_to(start):
                return end.relative_to(start).as_posix()
    return whole.as_posix() if Path(path).is_absolute() else Path(os.path.relpath(whole, base)).as_posix()


@functools.lru_cache(maxsize=1024)
def content_of(path: str) -> str | None:
    """A digest of a file's or folder's content, at a bounded price; None: nothing of it can be read."""
    digest = hashlib.sha256()
    seen = False
    try:
        for name, file in _files(Path(path)):
            status = file.stat()
            if stat.S_ISREG(status.st_mode):
                digest.update(f"{name}\0{status.st_size}\0".encode(errors="surrogateescape"))
                digest.update(_ends(file, status.st_size))
                seen = True
    except OSError:
        return None
    return digest.hexdigest() if seen else None


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Files below a folder with their names from there; a file alone has none, since it may have moved."""
    if not path.is_dir():
        yield "", path
        return
    left = MOST_FILES
    for folder, inner, names in os.walk(path):
        inner.sort()
        for name in sorted(names):
            if left == 0:
                return
            left -= 1
            file = Path(folder, name)
            yield file.relative_to(path).as_posix(), file


def _ends(file: Path, size: int) -> bytes:
    with file.open("rb") as stream:
        head = stream.read(SAMPLE_BYTES)
        if size <= SAMPLE_BYTES:
            return head
        stream.seek(max(size - SAMPLE_BYTES, SAMPLE_BYTES))
        return head + stream.read(SAMPLE_BYTES)
