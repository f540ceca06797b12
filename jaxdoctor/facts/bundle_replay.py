"""A bundle that was replayed: what was recorded, and what happened here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BundleRun:
    """One replay of the recorded steps."""

    how: str
    """"tf32 (emulated)", "MJX at x64", "MuJoCo in C", "MuJoCo Warp"."""

    first_bad_step: int | None = None
    """Counted as the recording's steps are; None: it stayed finite."""

    first_bad_field: str | None = None
    left_at: int | None = None
    """The step before which a coordinate had left the recorded ones by more than 0.01; None: none did."""

    difference: float | None = None
    """The largest difference of a coordinate from the recorded ones before any step, in radians or metres."""

    @property
    def failed(self) -> bool:
        """Whether it did not stay finite."""
        return self.first_bad_step is not None


@dataclass(frozen=True, kw_only=True)
class BundleReplay:
    """A bundle and its replays."""

    bundle: str
    """The file."""

    subject: str
    """What was recorded: "robot.xml", "brax:ant"."""

    written_by: str
    """"probe" or "guard"."""

    precision: str
    """At which it failed: "tf32 (emulated)"."""

    replay: int
    step: int
    field: str
    steps: int
    """How many were recorded, the one that failed among them."""

    runs: tuple[BundleRun, ...] = ()
    differences: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """Versions and settings that are others here: there, and here."""

    viewer: str | None = None
    """The folder with what MuJoCo's viewer opens; None: none was asked for."""

    def repeats(self, run: BundleRun) -> bool:
        """Whether a replay failed in the recorded step and field."""
        return run.first_bad_step == self.step and run.first_bad_field == self.field
