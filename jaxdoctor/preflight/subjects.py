"""What a configuration names, as subjects that can be examined one after the other."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.discover import expand
from jaxdoctor.checkpoints.options import SCAN, Options
from jaxdoctor.checkpoints.roles import Assignment, expected_dtype, role_named
from jaxdoctor.checkpoints.statistics import Depth
from jaxdoctor.config.settings import Config, ProbeEntry, ScanEntry, UpdateEntry
from jaxdoctor.errors import ConfigError, UnknownNameError, UsageError
from jaxdoctor.facts.precision import precision_named
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Expectations
from jaxdoctor.machine.card import HERE
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe, scenario_ask
from jaxdoctor.storage.budget import size_named
from jaxdoctor.updates.check import X64_SETTINGS, Wish, check_update
from jaxdoctor.workers.progress import Progress
from jaxdoctor.workers.worker import run

KINDS = ("machine", "scan", "update", "probe")
"""From cheap to dear."""

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


def subjects(config: Config, level: int, only: tuple[str, ...] = ()) -> list[Subject]:
    """Everything that the configuration names and the level reaches, cheap before dear.

    Raises:
        UnknownNameError: `only` names nothing.
        ConfigError: what an entry names is not there, whatever the level.
    """
    here = _Here(config)
    found = [*_machines(config), *map(here.scan, config.scans), *map(here.update, config.updates)]
    found += [probe for entry in config.probes for probe in here.probes(entry, level)]
    found.sort(key=lambda subject: (KINDS.index(subject.kind), subject.cost))
    for word in only:
        if not any(_means(word, subject) for subject in found):
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


def _require(subject: Subject, config: Config) -> None:
    """Insists that everything is there that an entry names."""
    for path in subject.named:
        found = glob.has_magic(path) and any(glob.iglob(path, recursive=True))  # noqa: PTH207 (it may be absolute)
        if not found and not os.path.lexists(path):
            what = f"nothing matches {path}" if glob.has_magic(path) else f"{path} does not exist"
            raise ConfigError(
                f"{subject.at or 'the configuration'}: {what}",
                hint=f"correct the name, or take the entry out; paths start from {config.folder}",
            )


def _means(word: str, subject: Subject) -> bool:
    return word == subject.kind or fnmatchcase(subject.name, word)


def _machines(config: Config) -> Iterator[Subject]:
    for card in config.cards or (HERE,):
        name = "this machine" if card == HERE else card
        yield Subject(
            kind="machine", name=name, entry={"card": card}, inputs=(), examine=_machine(card, name)
        )


def _machine(card: str, name: str) -> Examine:
    def examine(seconds: float, progress: Progress) -> Report:
        return probe(Ask(model="", subject=name, level=1, time_limit=seconds), card=card, progress=progress)

    return examine


def _plain(entry: ProbeEntry | ScanEntry | UpdateEntry) -> dict[str, Any]:
    """What was asked for, wherever in the configuration it stands."""
    return {name: value for name, value in asdict(entry).items() if name != "at"}


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
        return Subject(
            kind="scan",
            name=path,
            entry=_plain(asked),
            inputs=(Path(path),),
            examine=lambda seconds, progress: _scanned(asked, seconds, progress),
            cost=DEPTHS.index(entry.depth),
            at=entry.at,
            named=(path,),
        )

    def update(self, entry: UpdateEntry) -> Subject:
        file, colon, function = entry.target.partition(":")
        is_file = file.endswith(".py")
        target = f"{self.path(file)}{colon}{function}" if is_file else entry.target
        asked = replace(entry, target=target)
        return Subject(
            kind="update",
            name=target,
            entry=_plain(asked),
            # Whatever it imports may change it, so all Python code beside the configuration counts.
            inputs=tuple(sorted(self.config.folder.rglob("*.py"))),
            examine=lambda seconds, progress: _checked(asked, seconds, progress),
            time_limit=entry.time_limit,
            at=entry.at,
            named=(self.path(file),) if is_file else (),
        )

    def probes(self, entry: ProbeEntry, level: int) -> Iterator[Subject]:
        for card in entry.cards or self.config.cards or (HERE,):
            model = None if entry.model is None else self.path(entry.model)
            controls = None if entry.controls is None else self.path(entry.controls)
            asked = replace(entry, model=model, controls=controls, cards=(card,), level=entry.level or level)
            name = model or entry.scenario or ""
            files = [Path(model).parent] if model else []
            yield Subject(
                kind="probe",
                name=name if card == HERE else f"{name} on {card}",
                entry=_plain(asked),
                inputs=(*files, *([Path(controls)] if controls else [])),
                examine=_probed(asked, card),
                cost=(asked.steps or 100) * (asked.replays or 16) * (asked.level or level),
                time_limit=entry.time_limit,
                at=entry.at,
                level=2,
                named=tuple(one for one in (model, controls) if one is not None),
            )


def _scanned(entry: ScanEntry, seconds: float, progress: Progress) -> Report:
    options = Options(
        depth=Depth(entry.depth),
        series=entry.series,
        expectations=Expectations(
            planned_steps=entry.planned_steps,
            steps_per_second=entry.steps_per_second,
            dtypes=dict(expected_dtype(f"{role}={dtype}") for role, dtype in entry.expect_dtype.items()),
        ),
        roles=tuple(Assignment(pattern, role_named(role)) for pattern, role in entry.role.items()),
        memory=size_named(entry.max_memory),
    )
    # In a process of its own only because that can be ended when the time is over.
    return run(
        SCAN(expand([entry.path], ()), options),
        deadline=time.monotonic() + seconds,
        progress=progress,
        subject=f"the scan of {entry.path}",
    )


def _checked(entry: UpdateEntry, seconds: float, progress: Progress) -> Report:
    wish = Wish(
        target=entry.target,
        params=entry.params,
        params_dtypes=entry.params_dtype,
        x64=X64_SETTINGS[entry.x64],
        calls_per_second=entry.calls_per_second,
        time_limit=seconds,
    )
    return check_update(wish, progress=progress)


def _probed(entry: ProbeEntry, card: str) -> Examine:
    def examine(seconds: float, progress: Progress) -> Report:
        ask = Ask(
            model=entry.model or "",
            subject=entry.model or entry.scenario or "",
            controls=entry.controls,
            steps=entry.steps,
            replays=entry.replays,
            batch=entry.batch,
            seed=entry.seed,
            level=entry.level or 2,
            precisions=tuple(precision_named(name) for name in entry.precision),
            time_limit=seconds,
        )
        if entry.scenario is not None:
            ask = scenario_ask(ask, entry.scenario)
        elif entry.steps is None and entry.controls is None:
            ask = replace(ask, steps=100)
        return probe(ask, card=card, progress=progress)

    return examine
