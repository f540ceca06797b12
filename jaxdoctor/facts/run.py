"""When, where and how a report was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Run:
    """One call of a command."""

    began: str
    """In UTC, as ISO 8601 writes it: "2026-03-01T12:30:00Z"."""

    seconds: float
    host: str
    command: str
    """As it was typed: "jaxdoctor probe robot.xml"."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """Of jaxdoctor and Python, and of what the environment has not listed."""
