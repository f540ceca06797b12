"""Judges the checkpoints of a running job as they appear, until Ctrl-C."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from jaxdoctor.checkpoints.chosen import chosen
from jaxdoctor.checkpoints.discover import Found, discover
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import BytesRead, conclude, read_checkpoint
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.publish import Destination, severity_named, write
from jaxdoctor.reports.wording import worst_first
from jaxdoctor.workers.progress import SILENT

POLL_SECONDS = 2.0
"""How often the folders are looked at. A save that did not change in between is a finished one."""

Fingerprint = tuple[int, int, int]


def watch(
    paths: Sequence[Path],
    options: Options,
    destinations: Sequence[Destination],
    judge: Callable[[Report], Report] = lambda report: report,
    *,
    fail_on: str = "error",
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Reports each new checkpoint with what is newly wrong; after Ctrl-C, the exit code of all of it."""
    least = severity_named(fail_on)
    vigil = Vigil(paths, options, judge)
    try:
        while True:
            news = vigil.poll()
            if news is not None:
                for name, path in destinations:
                    write(news if path is None else vigil.report(), name, path)
            pause(POLL_SECONDS)
    except KeyboardInterrupt:
        return vigil.report().exit_code(least)


class Vigil:
    """What was judged so far, and what stood there at the last poll."""

    def __init__(
        self,
        paths: Sequence[Path],
        options: Options,
        judge: Callable[[Report], Report] = lambda report: report,
    ) -> None:
        self.judge = judge
        self.paths = paths
        self.options = options
        self.judged: dict[Path, Checkpoint] = {}
        self.seen: dict[Path, Fingerprint] = {}
        self.reported: set[object] = set()

    def poll(self) -> Report | None:
        """A report on what is new since the last poll; None: nothing."""
        new = []
        for found in self._settled():
            saved = read_checkpoint(found, self.options, BytesRead(SILENT, found.path.name))
            if saved.finished:
                self.judged[found.path] = saved
                new.append(saved)
        if not new:
            return None
        report = self.report()
        fresh = [finding for finding in report.findings if _identity(finding) not in self.reported]
        standing = [finding for finding in report.findings if _identity(finding) in self.reported]
        self.reported.update(map(_identity, fresh))
        paths = {saved.path for saved in new}
        return replace(
            report,
            examined=len(new),
            findings=tuple(fresh),
            standing=tuple(standing),
            checkpoints=tuple(saved for saved in report.checkpoints if saved.path in paths),
        )

    def report(self) -> Report:
        """Everything judged so far."""
        report = self.judge(conclude(self.paths, list(self.judged.values()), self.options))
        return replace(report, findings=worst_first(report.findings))

    def _settled(self) -> list[Found]:
        """Checkpoints not judged yet that look as they did at the last poll."""
        settled = []
        for path in self.paths:
            for found in chosen(discover(path), self.options.include, self.options.exclude):
                if found.other is not None:
                    continue
                if found.unfinished or found.reader is None or found.path in self.judged:
                    continue
                now = fingerprint(found.path)
                if self.seen.get(found.path) == now:
                    settled.append(found)
                self.seen[found.path] = now
        return settled


def _identity(finding: Finding) -> object:
    return finding.code, finding.severity, finding.location


def fingerprint(path: Path) -> Fingerprint:
    """The number of files below a path, their bytes, and the time of the last change, without opening any."""
    files = size = newest = 0
    waiting = [path]
    while waiting:
        current = waiting.pop()
        try:
            status = current.lstat()
            if current.is_dir() and not current.is_symlink():
                with os.scandir(current) as entries:
                    waiting += [Path(entry.path) for entry in entries]
        except OSError:
            continue
        files += 1
        size += status.st_size
        newest = max(newest, status.st_mtime_ns)
    return files, size, newest
