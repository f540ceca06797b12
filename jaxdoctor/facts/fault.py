"""What a reader could not accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FAULTS = frozenset(
    {
        "unfinished-save",
        "truncated-file",
        "corrupt-data",
        "missing-file",
        "pointer-not-data",
        "hostile-content",
        "carried-code",
        "unknown-classes",
        "unsupported-leaf",
        "shards-disagree",
        "empty-save",
        "pointer-dangling",
        "tensor-stored-twice",
        "tensor-not-indexed",
    }
)
"""The kinds of fault that have a rule of their own; any other is an unreadable file."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something a reader could not accept. Rules of integrity turn it into a finding."""

    kind: str
    """The name of the rule: "truncated-file", "hostile-content", "missing-file", ..."""

    message: str
    path: str | None = None
    leaf: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    fix: str | None = None
    """What mends this one; None: what the rule says."""
