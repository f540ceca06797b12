"""What a configuration names, as subjects that can be examined one after the other."""

from __future__ import annotations

import functools
import glob
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from jaxdoctor.checkpoints.discover import expand
from jaxdoctor.checkpoints.options import SCAN, Options
from jaxdoctor.config.settings import Config, ProbeEntry, ScanEntry, UpdateEntry
from jaxdoctor.errors import ConfigError, UnknownNameError, UsageError
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE, card_named
from jaxdoctor.machine.node import Expectation
from jaxdoctor.preflight.asks.probe import probe_ask
from jaxdoctor.preflight.asks.scan import scan_options
from jaxdoctor.preflight.asks.update import update_wish
from jaxdoctor.probe.ask import STEPS, Ask, replays_of
from jaxdoctor.probe.node import check_node
from jaxdoctor.probe.run import probe
from jaxdoctor.rollouts.named import NAME
from jaxdoctor.rollouts.played import RECORD
from jaxdoctor.rollouts.source import source_of
from jaxdoctor.updates.check import check_update
from jaxdoctor.workers.progress import Progress
from jaxdoctor.workers.worker import run

T = TypeVar("T")

KINDS = ("machine", "scan", "update", "probe")
"""From cheap to dear."""

ROLLOUTS = 2
"""The level from which on rollouts are replayed."""

DEPTHS = ("metadata-only", "sample", "deep")

Examine = Callable[[float, Progress], Report]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One entry of the configuration."""

    kind: str
    name: str
    entry: dict[str, Any]
    """What was asked for, as plain values: part of what tells whether it changed."""

    inputs: tuple[Path, ...]
    """Files and folders that it is judged by."""

    examine: Examine
    """Takes the seconds that are left."""

    cost: int = 0
    """Within its kind, what is cheaper comes first."""

    time_limit: float | None = None
    at: str = ""
    """Where the configuration names it: "jaxdoctor.yaml:5"."""

    level: int = 1
    """From which level on it is examined."""

    named: tuple[str, ...] = ()
    """Files, folders and globs that the entry names, as seen from the working folder."""

    @property
    def cached(self) -> bool:
        """Whether an earlier result stands for it while nothing changed. A machine is always looked at."""
        return self.kind != "machine"


def every_subject(config: Config, level: int) -> list[Subject]:
    """Everything that the configuration names, whatever the level reaches, cheap before dear."""
    here = _Here(config)
    found = [*_machines(config), *map(here.scan, config.scans), *map(here.update, config.updates)]
    found += [probe for entry in config.probes for probe in here.probes(entry, level)]
    return sorted(found, key=lambda subject: (KINDS.index(subject.kind), subject.cost))


def subjects(config: Config, level: int, only: tuple[str, ...] = ()) -> list[Subject]:
    """Everything that the configuration names and the level reaches, cheap before dear.

    Raises:
        UnknownNameError: `only` names nothing.
        ConfigError: what an entry names is not there, whatever the level, or none is of the kind in `only`.
    """
    found = every_subject(config, level)
    for word in only:
        if any(_means(word, subject) for subject in found):
            continue
        if word in KINDS:
            raise ConfigError(
                f"{config.path or 'the call'} has no entry of {word!r}, which --only names",
                hint=f"add one under `{word}:`, or leave --only {word} out",
            )
        raise UnknownNameError("subject", word, [*KINDS, *(subject.name for subject in found)])
    chosen = [subject for subject in found if not only or any(_means(word, subject) for word in only)]
    for subject in chosen:
        _require(subject, config)
    reached = [subject for subject in chosen if subject.level <= level]
    if chosen and not reached:
        raise UsageError(
            f"level {level} examines none of what --only names", hint=f"give --level {chosen[0].level}"
        )
    return reached


def _is_file(model: str) -> bool:
    """Whether it names a file, as what no source takes does too: then it is mistyped."""
    source = source_of(model)
    return source is None or source.file


def _require(subject: Subject, config: Config) -> None:
    """Insists that everything is there that an entry names."""
    for path in subject.named:
        found = glob.has_magic(path) and any(glob.iglob(path, recursive=True))  # noqa: PTH207 (it may be absolute)
        if not found and not os.path.lexists(path):
            what = f"nothing matches {path}" if glob.has_magic(path) else f"{path} does not exist"
            raise ConfigError(
                f"{subject.at or 'the configuration'}: {what}",
                hint="correct the name, or take the entry out; paths start from the folder of "
                f"{config.path or 'the call'}",
            )


def _means(word: str, subject: Subject) -> bool:
    return word == subject.kind or fnmatchcase(subject.name, word)


def _machines(config: Config) -> Iterator[Subject]:
    for card in config.cards or (HERE,):
        if card != HERE:
            _built(str(config.path or ""), functools.partial(card_named, card))
        name = "this machine" if card == HERE else card
        yield Subject(
            kind="machine", name=name, entry={"card": card}, inputs=(), examine=_machine(card, name)
        )

    expectation = Expectation(card=config.expect_card, count=config.expect_count)
    if expectation != Expectation():
        if expectation.card is not None:
            _built(str(config.path or ""), functools.partial(card_named, expectation.card))
        yield Subject(
            kind="machine",
            name="this node",
            entry={"expect": asdict(expectation)},
            inputs=(),
            examine=lambda seconds, progress: check_node(expectation, time_limit=seconds, progress=progress),
        )


def _machine(card: str, name: str) -> Examine:
    def examine(seconds: float, progress: Progress) -> Report:
        return probe(Ask(model="", subject=name, level=1, time_limit=seconds), card=card, progress=progress)

    return examine


def _plain(entry: ProbeEntry | ScanEntry | UpdateEntry) -> dict[str, Any]:
    """What was asked for, wherever in the configuration it stands."""
    return {name: value for name, value in asdict(entry).items() if name != "at"}


def _probed(ask: Ask, card: str) -> Examine:
    def examine(seconds: float, progress: Progress) -> Report:
        return probe(replace(ask, time_limit=seconds), card=card, progress=progress)

    return examine


class _Here:
    """Entries of a configuration, whose paths start from its folder."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def path(self, name: str) -> str:
        """The path as it is from the working folder, which is how findings name it."""
        return os.path.relpath(self.config.folder / name) if not Path(name).is_absolute() else name

    def scan(self, entry: ScanEntry) -> Subject:
        path = self.path(entry.path)
        asked = replace(entry, path=path)
        options = _built(entry.at, lambda: scan_options(asked))
        return Subject(
            kind="scan",
            name=path,
            entry=_plain(asked),
            inputs=(Path(path),),
            examine=lambda seconds, progress: _scanned(path, options, seconds, progress),
            cost=DEPTHS.index(entry.depth),
            at=entry.at,
            named=(path,),
        )

    def update(self, entry: UpdateEntry) -> Subject:
        asked, files = self._code(entry)
        wish = _built(entry.at, lambda: update_wish(asked, seconds=1))
        return Subject(
            kind="update",
            name=asked.target or asked.run or "",
            entry=_plain(asked),
            # Whatever it imports may change it, so all Python code beside the configuration counts.
            inputs=tuple(sorted(self.config.folder.rglob("*.py"))),
            examine=lambda seconds, progress: check_update(
                replace(wish, time_limit=seconds), progress=progress
            ),
            time_limit=entry.time_limit,
            at=entry.at,
            named=files,
        )

    def _code(self, entry: UpdateEntry) -> tuple[UpdateEntry, tuple[str, ...]]:
        """The entry with its file as seen from the working folder, and that file."""
        if entry.run is not None:
            if entry.run.startswith("-m"):
                return entry, ()
            path = self.path(entry.run)
            return replace(entry, run=path), (path,)
        file = entry.target.partition(":")[0]
        if not file.endswith(".py"):
            return entry, ()
        return replace(entry, target=self._located(entry.target) or ""), (self.path(file),)

    def _located(self, target: str | None) -> str | None:
        """A function in a file, with the file as seen from the working folder; else as it is."""
        if target is None:
            return None
        file, colon, function = target.partition(":")
        return f"{self.path(file)}{colon}{function}" if file.endswith(".py") else target

    def _saved(self, policy: str | None) -> str | None:
        """A policy's checkpoint, or the function that makes one, as seen from the working folder."""
        if policy is None or NAME.fullmatch(policy):
            return self._located(policy)
        return self.path(policy)

    def _bundle(self, entry: ProbeEntry, card: str) -> str | None:
        """The file of a bundle: of several cards each has its own, such as failure-rtx-4090.zip."""
        if entry.bundle is None:
            return None
        path = Path(self.path(entry.bundle))
        return str(path.with_name(f"{path.stem}-{card}{path.suffix}") if card else path)

    def _controls(self, controls: str) -> str:
        """A file of controls, or where they are to be recorded, as seen from the working folder."""
        prefix = RECORD if controls.startswith(RECORD) else ""
        return f"{prefix}{self.path(controls.removeprefix(RECORD))}"

    def probes(self, entry: ProbeEntry, level: int) -> Iterator[Subject]:
        cards = entry.cards or self.config.cards or (HERE,)
        for card in cards:
            file = None if entry.model is None or not _is_file(entry.model) else self.path(entry.model)
            model = file or entry.model
            function, args, check = map(self._located, (entry.function, entry.args, entry.check))
            env, network = map(self._located, (entry.env, entry.network))
            policy = self._saved(entry.policy)
            controls = None if entry.controls is None else self._controls(entry.controls)
            read = controls if controls is not None and not controls.startswith(RECORD) else None
            asked = replace(
                entry,
                model=model,
                controls=controls,
                cards=(card,),
                level=entry.level or max(level, ROLLOUTS),
                function=function,
                args=args,
                check=check,
                env=env,
                policy=policy,
                network=network,
                bundle=self._bundle(entry, card if len(cards) > 1 else ""),
            )
            name = model or entry.scenario or function or env or ""
            files = [Path(file).parent] if file else []
            if entry.function is not None or entry.env is not None:
                files = sorted(self.config.folder.rglob("*.py"))
            ask = _built(entry.at, functools.partial(probe_ask, asked, seconds=1))
            yield Subject(
                kind="probe",
                name=name if card == HERE else f"{name} on {card}",
                entry=_plain(asked),
                inputs=(*files, *([Path(read)] if read else [])),
                examine=_probed(ask, card),
                cost=(ask.steps or STEPS) * replays_of(ask)[0] * ask.level,
                time_limit=entry.time_limit,
                at=entry.at,
                level=ROLLOUTS,
                named=tuple(one for one in (file, read) if one is not None),
            )


def _built(at: str, build: Callable[[], T]) -> T:
    """What an entry asks.

    Raises:
        ConfigError: it cannot be meant; the message says where the entry stands.
    """
    try:
        return build()
    except UsageError as error:
        raise ConfigError(f"{at or 'the configuration'}: {error}", hint=error.hint) from error


def _scanned(path: str, options: Options, seconds: float, progress: Progress) -> Report:
    # In a process of its own only because that can be ended when the time is over.
    return run(
        SCAN(expand([path], ()), options),
        deadline=time.monotonic() + seconds,
        progress=progress,
        subject=f"the scan of {path}",
    )
