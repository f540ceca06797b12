"""What a rule says about a fact."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Severity(enum.IntEnum):
    """How much harm is done, least first. Whether to fail on it is the caller's choice."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The word a user reads and writes: "warning"."""
        return self.name.lower()


@dataclass(frozen=True, kw_only=True)
class Location:
    """Where a finding points. Whatever is unknown or does not apply is None."""

    path: str | None = None
    """A file, a folder, or the name of a scenario, target or machine."""

    leaf: str | None = None
    """The path of a leaf inside a pytree or a checkpoint: "opt_state/0/nu/w"."""

    step: int | None = None
    """A step of a rollout or of a training run."""

    line: int | None = None
    """A line of `path`, counted from 1."""

    source: str | None = None
    """The text of that line; None: it is not known, or the file cannot be read."""

    file: str | None = None
    """The file as seen from the repository's root; None: it is no file, or that is not known yet."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """What a rule yields: one place where its illness shows."""

    location: Location
    message: str
    """The number, the place and the comparison: "2 of 3 values are not finite"."""

    evidence: Mapping[str, Any] = field(default_factory=dict)
    """JSON-ready values that the message was made from."""

    fix: str | None = None
    """What to do, in one line. The rule's page says more."""

    severity: Severity | None = None
    """Only where this hit does less or more harm than the rule's own severity says."""

    go_back: bool = False
    """Whether the fix is to restore an older checkpoint, so that the newest clean one is to be named."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A hit together with the rule that made it."""

    code: str
    name: str
    severity: Severity
    location: Location
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    fix: str | None = None
    go_back: bool = False
    """Whether the fix is to restore an older checkpoint. Not written into reports."""
    fingerprint: str | None = None
    """What it is recognised by in a later run: its rule and its place, from a folder that does not move."""

    content: str | None = None
    """The same with what is in the file instead of where the file stands; None: the place is no file."""


INTERRUPTED = "interrupted"
"""The reason of what was still to come, or under way, at Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """Something that was not examined. It is never counted as healthy."""

    subject: str
    reason: str
    asked: bool = False
    """Whether the user or the configuration named it: the run is then no success without it."""

    misuse: bool = False
    """Whether what was named is not there, or cannot be meant."""


@dataclass(frozen=True, kw_only=True)
class Reused:
    """A subject that has not changed, and whose earlier result stands."""

    subject: str
    when: str
    """When it was judged, as people read it: "2026-03-01 12:30"."""


@dataclass(frozen=True)
class Ignored:
    """A finding that somebody decided to live with, and why."""

    finding: Finding
    reason: str
