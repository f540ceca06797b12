"""The contract of `sources/`: where a rollout comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxdoctor.registry import Folder


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place that a model to replay can come from."""

    accepts: Callable[[str], bool]
    """Whether this argument of `probe` is meant for it, told without opening large files."""

    load: Callable[[str], Any]
    """The compiled `mujoco.MjModel`.

    Raises:
        UnreadableError, UnsupportedModelError: with the line that is at fault.
    """


SOURCES = Folder("jaxdoctor.sources", Source, noun="source of rollouts")
