"""The folder that the workers of one probe share: the model, what is replayed, and the x64 states."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Packed, Simulation, States, Twin, system_of
from jaxdoctor.rollouts.record import Recording

LOOK_SECONDS = 0.05
"""Between two looks at whether a file has come or a lock is free."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The x64 replay that the others are compared with."""

    states: States
    finite: npt.NDArray[np.bool_]
    """Which of its replays stayed finite: only those can be compared with."""

    aside: tuple[str, ...]
    """Fields that are not finite although the replay is healthy."""


class Scratch:
    """Names and formats of the files in it, so that no worker has to know them."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def keep_plan(self, plan: RecordPlan) -> None:
        """Saves what was recorded; its system has left here what it needs to load it again."""
        (self._folder / "plan").write_bytes(pickle.dumps(plan))

    def simulation(self) -> Simulation:
        """What is replayed, in the precision of this process.

        Raises:
            UnsupportedModelError: it cannot be stepped in JAX.
        """
        plan = self.plan()
        return system_of(plan.model).load(plan, self._folder)

    def packed(self) -> Packed | None:
        """The files of a bundle that stand for the model; None: the argument is all that names it."""
        plan = self.plan()
        pack = system_of(plan.model).pack
        return None if pack is None else pack(plan, self._folder)

    def twin(self) -> Twin | None:
        """The same physics in MuJoCo's C engine; None where there is no such."""
        plan = self.plan()
        make = system_of(plan.model).twin
        return None if make is None else make(plan, self._folder)

    def plan(self) -> RecordPlan:
        """What was recorded."""
        plan = pickle.loads((self._folder / "plan").read_bytes())  # noqa: S301 (our own worker wrote it)
        assert isinstance(plan, RecordPlan)
        return plan

    def keep_recording(self, recording: Recording) -> None:
        """Saves the start states and controls."""
        (self._folder / "recording").write_bytes(pickle.dumps(recording))

    def recording(self) -> Recording:
        """The start states and controls."""
        kept = pickle.loads((self._folder / "recording").read_bytes())  # noqa: S301 (our own worker wrote it)
        assert isinstance(kept, Recording)
        return kept

    def keep_reference(self, reference: Reference | None) -> None:
        """Publishes the x64 replay; None says that there will be none."""
        unfinished = self._folder / f"reference.{os.getpid()}"
        unfinished.write_bytes(pickle.dumps(reference))
        unfinished.replace(self._folder / "reference")

    def wait_for_reference(self, deadline: float) -> Reference | None:
        """The x64 replay, once it is there; None when it will not be or not before the deadline."""
        path = self._folder / "reference"
        while not path.exists():
            if time.monotonic() > deadline:
                return None
            time.sleep(LOOK_SECONDS)
        kept = pickle.loads(path.read_bytes())  # noqa: S301 (our own worker wrote it)
        assert kept is None or isinstance(kept, Reference)
        return kept

    def keep_capture(
        self,
        name: str,
        state: Mapping[str, npt.NDArray[Any]],
        start: Mapping[str, npt.NDArray[Any]],
        control: npt.NDArray[Any],
    ) -> None:
        """Saves the steps before a failure under that name."""
        (self._folder / name).write_bytes(pickle.dumps((dict(state), dict(start), control)))

    def capture(
        self, name: str
    ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]], npt.NDArray[Any]]:
        """Leaves of the state before each step, leaves of the start, and controls."""
        kept: tuple[Any, Any, Any] = pickle.loads((self._folder / name).read_bytes())  # noqa: S301 (our own worker wrote it)
        return kept

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """While this worker compiles or replays, nobody measures time."""
        with (self._folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield

    @contextlib.contextmanager
    def alone(self, deadline: float) -> Iterator[bool]:
        """Waits until no worker is busy; false when the deadline came first."""
        with (self._folder / "lock").open("a") as lock:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield True
                    return
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(LOOK_SECONDS)
