"""Earlier results of subjects that have not changed since."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_IFMT, S_ISREG

from jaxdoctor import __version__
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.installed import versions_examined
from jaxdoctor.preflight.subjects import Subject
from jaxdoctor.reports.json_reader import read
from jaxdoctor.reports.json_writer import written
from jaxdoctor.workers.cache import cache_folder

WHOLE_BYTES = 1 << 20
"""Larger files are distinguished by their size and time, smaller ones by their content."""

MOST_RESULTS = 500
SETTINGS = ("JAX_", "XLA_", "NVIDIA_", "CUDA_")
"""Environment variables that begin so change numerics, or may."""


@dataclass(frozen=True)
class Remembered:
    """A result of an earlier run."""

    report: Report
    when: str
    """As people read it: "2026-03-01 12:30"."""


class Memory:
    """Results in the user's cache folder, each under the digest of everything that it depends on."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "preflight"

    def recall(self, subject: Subject) -> Remembered | None:
        """The result of a subject that is as it was."""
        path = self._path(subject)
        try:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
            return Remembered(read(path), when)
        except (OSError, UnreadableError):
            return None

    def keep(self, subject: Subject, report: Report) -> None:
        """Keeps a result, and drops the oldest when there are very many. Without a folder, nothing."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path(subject).write_text(json.dumps(written(report)), encoding="utf-8")
            kept = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-MOST_RESULTS]:
                path.unlink(missing_ok=True)
        except OSError:
            return

    def _path(self, subject: Subject) -> Path:
        return self.folder / f"{_digest(subject)}.json"


def _digest(subject: Subject) -> str:
    depends = {
        "jaxdoctor": __version__,
        "versions": dict(versions_examined()),
        "settings": {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)},
        "kind": subject.kind,
        "entry": subject.entry,
        "files": dict(_files(subject.inputs)),
    }
    return hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode()).hexdigest()


def _files(inputs: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for path in inputs:
        # A glob stands for what it matches today.
        matched = glob.glob(str(path), recursive=True)  # noqa: PTH207 (it may be absolute)
        # `os.path` and not `Path`, which raises where a folder cannot be searched.
        for place in [path] if os.path.exists(path) else sorted(map(Path, matched)):  # noqa: PTH110
            for file in _below(place) if os.path.isdir(place) else [place]:  # noqa: PTH112
                yield str(file), _state(file)


def _below(folder: Path) -> Iterator[Path]:
    """A folder and all in it, empty folders too, also behind links, as a scan looks into it."""
    seen: set[str] = set()
    yield folder
    for place, inner, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            inner.clear()
            continue
        seen.add(real)
        inner.sort()
        yield from (Path(place, name) for name in sorted([*inner, *names]))


def _state(file: Path) -> str:
    try:
        stat = file.stat()
        if not S_ISREG(stat.st_mode):
            # Of a folder counts whether it can be looked into, and not its time.
            return f"no file {S_IFMT(stat.st_mode):o} {os.access(file, os.R_OK | os.X_OK)}"
        if stat.st_size > WHOLE_BYTES:
            # What restores a file with its old time, a cache or rsync, still changes these.
            return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"
