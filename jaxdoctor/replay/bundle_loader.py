"""A bundle as something that is replayed: its simulation, its recording, and its twin in C."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxdoctor.bundles.bundle import Bundle
from jaxdoctor.bundles.read import read
from jaxdoctor.errors import UnreadableError, UnsupportedModelError, UsageError
from jaxdoctor.replay.fields import leaf_names
from jaxdoctor.replay.plan import RecordPlan, ReplayPlan
from jaxdoctor.replay.system import SYSTEMS, Simulation, System, Twin
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import Progress

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A bundle, and what steps it."""

    bundle: Bundle
    system: System
    plan: RecordPlan
    folder: Path

    def simulation(self) -> Simulation:
        """What is stepped, in the precision of this process.

        Raises:
            UnsupportedModelError: it cannot be stepped in JAX.
            UnreadableError: the recorded state is not one of it.
        """
        found = self.system.load(self.plan, self.folder)
        blank = dict(zip(leaf_names(found.blank), jax.tree.leaves(found.blank), strict=True))
        for leaf, values in self.bundle.starts.items():
            if leaf in blank and blank[leaf].shape != values.shape:
                raise _other(f"{leaf} was recorded as {values.shape}, and it is {blank[leaf].shape} here")
        missing = sorted(set(self.bundle.starts) - set(blank) - set(self.bundle.keys))
        if missing:
            raise _other(f"it has no {missing[0][:200]}")
        if found.controls != self.bundle.control.shape[1]:
            raise _other(
                f"{self.bundle.control.shape[1]} controls were recorded, and it has {found.controls} here"
            )
        return found

    def twin(self) -> Twin:
        """The same physics in C.

        Raises:
            UnsupportedModelError: there is none.
        """
        found = None if self.system.twin is None else self.system.twin(self.plan, self.folder)
        if found is None:
            raise UnsupportedModelError(
                f"there is no MuJoCo model of {self.bundle.subject} to step in C",
                hint="leave --engine c away",
            )
        return found

    def recording(self, batch: int) -> Recording:
        """The recorded steps, the same in every row: in the batch in which they failed.

        A model has no random key, which a guard keeps beside what is stepped.
        """
        starts = {
            leaf: np.repeat(each[None], batch, axis=0)
            for leaf, each in self.bundle.starts.items()
            if not (self.bundle.model is not None and leaf in self.bundle.keys)
        }
        control = np.repeat(self.bundle.control, self.bundle.substeps, axis=0)
        return Recording(
            starts=starts,
            ctrl=np.repeat(np.asarray(control, np.float64)[None], batch, axis=0),
            start="the bundle",
            controls="the bundle",
        )


def _other(reason: str) -> UnreadableError:
    return UnreadableError(
        f"what is here is not what was recorded: {reason}",
        hint="replay the bundle with the same model, environment and policy, in their versions",
    )


def load(folder: str, plan: ReplayPlan, progress: Progress) -> Loaded:
    """Opens a bundle in a folder of its own.

    Raises:
        UsageError: it was recorded of code of the user's, which has to be named.
        UnreadableError, UnsupportedModelError: it cannot be used.
    """
    progress.stage("reading the bundle")
    bundle, home = read(Path(plan.bundle)), Path(folder)
    if bundle.system not in {name.replace("-", "_") for name in SYSTEMS.names()}:
        raise UnreadableError(
            f"the bundle was recorded of a {bundle.system!r}, which is not known",
            hint="use a newer jaxdoctor",
        )
    system = SYSTEMS.load(bundle.system.replace("_", "-"))
    recorded = RecordPlan(
        model=bundle.subject if plan.argument is None else plan.argument,
        controls=None,
        replays=bundle.replays,
        steps=bundle.failure.step + 1,
        seed=bundle.seed,
        policy=plan.policy,
    )
    if bundle.model is not None and system.unpack is not None:
        system.unpack(bundle, home)
    else:
        _insist_on_name(bundle, plan.argument)
        system.record(recorded, home, progress)
    return Loaded(bundle=bundle, system=system, plan=recorded, folder=home)


def _insist_on_name(bundle: Bundle, argument: str | None) -> None:
    """A bundle must not choose which code of the user's runs.

    Raises:
        UsageError: it names some, and the user did not.
    """
    if argument is not None:
        return
    if find_source(bundle.subject).users_code:
        raise UsageError(
            f"the bundle was recorded of {bundle.subject}, which is code and not in it",
            hint="if you trust that code, name it: --of followed by the same words",
        )
