"""What a scan is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jaxdoctor.checkpoints.roles import Assignment
from jaxdoctor.checkpoints.statistics import Depth
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Expectations
from jaxdoctor.storage.budget import DEFAULT_MEMORY
from jaxdoctor.workers.task import Task


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for."""

    depth: Depth = Depth.SAMPLE
    series: bool | None = None
    """Whether the checkpoints form one run: True all, False none, None as their names tell."""

    expectations: Expectations = field(default_factory=Expectations)
    roles: tuple[Assignment, ...] = ()
    memory: int = DEFAULT_MEMORY
    include: tuple[str, ...] = ()
    """Patterns of paths: where there are any, nothing else is scanned."""

    exclude: tuple[str, ...] = ()
    """Patterns of paths that are passed over."""

    leaves: bool = False
    """Whether the report lists every leaf."""


SCAN: Task[[Sequence[Path], Options], Report] = Task("jaxdoctor.checkpoints.scan:scan", ours=True)
"""A scan in a process of its own, which can be ended when its time is over."""
