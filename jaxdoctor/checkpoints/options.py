"""What a scan is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxdoctor.checkpoints.roles import Assignment
from jaxdoctor.checkpoints.statistics import Depth
from jaxdoctor.facts.series import Expectations
from jaxdoctor.storage.budget import DEFAULT_MEMORY


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked for."""

    depth: Depth = Depth.SAMPLE
    series: bool | None = None
    """Whether the checkpoints form one run: True all, False none, None as their names tell."""

    expectations: Expectations = field(default_factory=Expectations)
    roles: tuple[Assignment, ...] = ()
    memory: int = DEFAULT_MEMORY
