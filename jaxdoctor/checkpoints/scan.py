"""Judges checkpoints on disk: finds them, reads what is needed of each, and asks the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jaxdoctor.checkpoints.chosen import chosen
from jaxdoctor.checkpoints.discover import Found, discover
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.reader import READERS, describe
from jaxdoctor.checkpoints.repeats import are_ill, together, with_last_clean
from jaxdoctor.checkpoints.roles import role_of
from jaxdoctor.checkpoints.runs import in_runs
from jaxdoctor.checkpoints.statistics import Depth, number, statistics_of
from jaxdoctor.errors import NothingExaminedError, UnreadableError
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.coverage import coverage_of
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import INTERRUPTED, Finding, Skipped
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.rules.rule import RULES, Rule
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.steps import step_of
from jaxdoctor.workers.log import tell
from jaxdoctor.workers.progress import SILENT, Progress

FAMILIES = ("values", "counters", "dtypes", "integrity", "optimizer", "run")
"""The rules that judge what is made here; the others are not even imported."""

UNREAD = "unread"
"""The format of a checkpoint that no reader could say anything about."""


def scan(paths: Sequence[Path], options: Options, progress: Progress = SILENT) -> Report:
    """Judges every checkpoint at or under the paths.

    Raises:
        NothingExaminedError: nothing there is a checkpoint, or none can be read.
    """
    progress.stage("looking for checkpoints")
    met = wanted(paths, options)
    found = [one for one in met if one.other is None]
    others = [one for one in met if one.other is not None]
    checkpoints: list[Checkpoint] = []
    try:
        for index, one in enumerate(found, 1):
            counted = BytesRead(progress, f"{one.path.name} ({index} of {len(found)})")
            tell(f"reading {one.path} as {one.reader}")
            checkpoints.append(read_checkpoint(one, options, counted))
    except KeyboardInterrupt:
        report = conclude(paths, checkpoints, options)
        left = (Skipped(subject=str(one.path), reason=INTERRUPTED) for one in found[len(checkpoints) :])
        return replace(report, skipped=(*report.skipped, *left), partial=True)
    if not any(one.fault for one in found):
        insist(paths, checkpoints, others)
    report = conclude(paths, checkpoints, options)
    return replace(report, skipped=(*report.skipped, *not_read(paths, others)))


def _apart(found: Iterable[Found]) -> list[Found]:
    """Each path once, though several arguments lead to it."""
    by_path: dict[Path, Found] = {}
    for one in found:
        by_path.setdefault(one.path, one)
    return list(by_path.values())


def wanted(paths: Sequence[Path], options: Options) -> list[Found]:
    """What is to be scanned at and under the paths.

    Raises:
        NothingExaminedError: the patterns leave nothing of what is there.
    """
    found = _apart(one for path in paths for one in discover(path))
    left = list(chosen(found, options.include, options.exclude))
    if found and not left:
        raise NothingExaminedError(
            f"--include and --exclude leave none of the {len(found)} checkpoints",
            hint="see with --dry-run what is there, without them",
        )
    return left


def not_read(paths: Sequence[Path], others: Sequence[Found]) -> tuple[Skipped, ...]:
    """The files of formats that are known and not read, counted in one line: "3 not read: 2 GGUF, ONNX"."""
    if not others:
        return ()
    counts = Counter(str(one.other) for one in others)
    formats = ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.most_common())
    listed = ", ".join(one.path.name for one in others[:LISTED])
    more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
    subject = str(others[0].path) if len(others) == 1 else ", ".join(map(str, paths))
    return (Skipped(subject=subject, reason=f"{len(others)} not read: {formats} ({listed}{more})"),)


LISTED = 3
"""Names of files that are not read, as examples."""


def insist(paths: Sequence[Path], checkpoints: Sequence[Checkpoint], others: Sequence[Found] = ()) -> None:
    """Insists that there was something to judge.

    Raises:
        NothingExaminedError: nothing is a checkpoint, or the only thing that is one cannot be read.
    """
    if any(saved.format != UNREAD or not saved.finished for saved in checkpoints):
        return
    for saved in checkpoints:
        for fault in saved.faults:
            raise UnreadableError(
                fault.message, hint=str(fault.evidence.get("hint", "name the file or folder that holds it"))
            )
    named = ", ".join(str(path) for path in paths)
    for skipped in not_read(paths, others):
        raise NothingExaminedError(
            f"there is no checkpoint of a known format at {named}: {skipped.reason}",
            hint="name the checkpoint that it was made from",
        )
    raise NothingExaminedError(
        f"there is no checkpoint at {named}",
        hint=f"known are {', '.join(READERS.names())}",
    )


def conclude(paths: Sequence[Path], checkpoints: Sequence[Checkpoint], options: Options) -> Report:
    """The report on checkpoints that were read."""
    runs = in_runs(checkpoints, options)
    rules = list(RULES.load_all(*FAMILIES))
    read = [saved for run in runs for saved in run.checkpoints if saved.finished and saved.format != UNREAD]
    return Report(
        command="scan-checkpoint",
        subject=", ".join(str(path) for path in paths),
        examined=sum(saved.finished and saved.format != UNREAD for saved in checkpoints),
        findings=tuple(finding for run in runs for finding in _judged(run, rules)),
        checkpoints=tuple(read),
        coverage=coverage_of(read) if read else None,
        with_leaves=options.leaves,
        series=tuple(run for run in map(_finished, runs) if len(run.checkpoints) > 1),
        skipped=tuple(_skipped(paths, checkpoints)),
    )


def _skipped(paths: Sequence[Path], checkpoints: Sequence[Checkpoint]) -> Iterator[Skipped]:
    """Saves that are not finished, and names under which nothing is a checkpoint."""
    for saved in checkpoints:
        if not saved.finished:
            named = Path(saved.path) in paths
            yield Skipped(subject=saved.path, reason="its save is not finished", asked=named)
    places = [Path(saved.path) for saved in checkpoints]
    for path in paths:
        if not any(place.is_relative_to(path) for place in places):
            yield Skipped(subject=str(path), reason="there is no checkpoint in it", asked=True)


def _judged(run: Series, rules: Sequence[Rule]) -> list[Finding]:
    finished = _finished(run)
    judged = [(fact, finding) for fact in (*run.checkpoints, finished) for finding in diagnose([fact], rules)]
    return with_last_clean(together(judged), finished.checkpoints, are_ill(judged))


def _finished(run: Series) -> Series:
    saved = (one for one in run.checkpoints if one.finished and one.format != UNREAD)
    return replace(run, checkpoints=tuple(saved))


def read_checkpoint(found: Found, options: Options, progress: BytesRead) -> Checkpoint:
    """One checkpoint with the roles and the statistics of its leaves. Whatever fails is a fault of it."""
    saved = _read(found, options, progress)
    return saved if found.link is None else _as_linked(saved, found.link)


def _as_linked(saved: Checkpoint, link: Path) -> Checkpoint:
    """Under the name of the link that led to it, which may tell another step than the name of the file."""
    named = step_of(link)
    if named is None:
        named = saved.named_step
    step = named if saved.step == saved.named_step else saved.step
    return replace(saved, path=str(link), named_step=named, step=step)


def _read(found: Found, options: Options, progress: BytesRead) -> Checkpoint:
    if found.unfinished or found.fault is not None:
        step = step_of(found.path)
        return Checkpoint(
            path=str(found.path),
            format=UNREAD,
            leaves=(),
            finished=not found.unfinished,
            step=step,
            named_step=step,
            faults=() if found.fault is None else (found.fault,),
        )
    if found.reader is None:
        reason = found.reason or "no reader knows its format"
        return _unread(found.path, f"{found.path} is not examined: {reason}", known=True)
    try:
        return _examined(found.path, found.reader, options, progress)
    except UnreadableError as error:
        return _unread(found.path, str(error), getattr(error, "kind", "unreadable-file"), hint=error.hint)
    except (RecursionError, MemoryError) as error:
        reason = f"{found.path} needs more {LACKS[type(error)]} than there is"
        return _unread(found.path, reason, "hostile-content")
    except Exception as error:  # noqa: BLE001 (a file that breaks a reader must not end the scan of the others)
        reason = f"reading {found.path} failed with {type(error).__name__}: {error}"
        return _unread(found.path, reason, hint="report this file at " + ISSUES)


LACKS = {RecursionError: "nesting", MemoryError: "memory"}
ISSUES = "https://github.com/jaxdoctor/jaxdoctor/issues"


def _unread(
    path: Path, reason: str, kind: str = "unreadable-file", *, hint: str | None = None, known: bool = False
) -> Checkpoint:
    evidence = {"hint": hint} if hint else {}
    if known:
        evidence = {"hint": f"known are {', '.join(READERS.names())}"}
    fault = Fault(kind=kind, message=reason, path=str(path), evidence=evidence)
    return Checkpoint(path=str(path), format=UNREAD, leaves=(), faults=(fault,))


def _examined(path: Path, reader: str, options: Options, progress: BytesRead) -> Checkpoint:
    budget = Budget(memory=options.memory)
    saved = describe(reader, path, budget)
    if saved.finished:
        saved = _with_statistics(saved, options, progress)
    return replace(saved, bytes_read=budget.bytes_read)


def _with_statistics(saved: Checkpoint, options: Options, progress: BytesRead) -> Checkpoint:
    if options.depth is Depth.ALL:
        progress.expect(sum(int(leaf.size * leaf.type.itemsize) for leaf in saved.leaves))
    faults = list(saved.faults)
    leaves = tuple(_leaf_with_statistics(leaf, options, progress, faults) for leaf in saved.leaves)
    return replace(saved, leaves=leaves, faults=tuple(faults))


def _leaf_with_statistics(leaf: Leaf, options: Options, progress: BytesRead, faults: list[Fault]) -> Leaf:
    statistics, unsupported = leaf.statistics, leaf.unsupported
    try:
        statistics = statistics_of(leaf, options.depth, progress.advance) or statistics
    except UnreadableError as error:
        kind = getattr(error, "kind", None)
        if kind is None:
            unsupported = str(error)
        else:
            faults.append(Fault(kind=kind, message=str(error), leaf=leaf.path))
    value = number(statistics, leaf) if leaf.value is None else leaf.value
    return replace(
        leaf,
        role=role_of(leaf, options.roles),
        statistics=statistics,
        unsupported=unsupported,
        value=value,
        values=None,
    )


class BytesRead:
    """Progress in bytes of one checkpoint."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.progress = progress
        self.title = title
        self.total = 0
        self.done = 0
        self.said = 0
        progress.stage(f"reading {title}")

    def expect(self, total: int) -> None:
        """That many bytes are going to be read."""
        self.total = total

    def advance(self, size: int) -> None:
        """So many more were."""
        self.done += size
        if self.total and self.done - self.said >= ANNOUNCED_BYTES:
            self.said = self.done
            self.progress.stage(f"{self.title}: {_size(self.done)} of {_size(self.total)}", float(self.total))
            self.progress.reached(float(self.done))


ANNOUNCED_BYTES = 16 << 20


def _size(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB" if count < 1 << 30 else f"{count / (1 << 30):.1f} GiB"
