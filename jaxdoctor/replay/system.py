"""The contract of `systems/`: how what a source names is recorded, started and stepped in JAX.

A source (`rollouts/sources/NAME.py`) says which arguments of `probe` are meant for it; the system of the name
that it gives (`Source.system`) does the rest, in worker processes. So a kind of environment is two files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from jaxdoctor.bundles.bundle import Bundle, PackedModel
from jaxdoctor.facts.closed_loop import ClosedLoop
from jaxdoctor.facts.model import Model
from jaxdoctor.registry import Folder
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import Progress

States = Mapping[str, npt.NDArray[Any]]
"""The carried leaves before each step and after the last: steps + 1 x replays x the leaf's shape.

A replay that is no longer finite has NaN in its floating leaves from the step after which it was not.
"""


@dataclass(frozen=True, kw_only=True)
class Driven:
    """The policy of a closed loop."""

    loop: ClosedLoop
    advance: Callable[[Any, Any], Any]
    """`advance(state, action) -> state`: a step of the environment alone."""

    restart: Callable[[Any, Any], Any]
    """`restart(first, state) -> state`: the state with what an auto-reset puts back, from the first."""

    reads: tuple[str, ...]
    """The kept leaves that it reads."""

    applied: str | None = None
    """The kept leaf with the controls that the physics was given; None: the actions themselves."""

    substeps: int = 1
    """Steps of the physics in one of the environment."""

    mean: npt.NDArray[Any] | None = None
    """What its normaliser knows of them, in one row; None: there is none."""

    std: npt.NDArray[Any] | None = None
    acts: Callable[[Any], Any] | None = None
    """`acts(parameters)`: some rows through the policy alone, to tell its products from the physics'."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What is replayed, as one pure step: the shape of Brax's `Env`, without its random numbers.

    The step is vmapped over replays, traced once, and compiled with the parameters as an argument; so it must
    be a function of its arguments alone. Leaves are called by their path in the state, joined by dots:
    "qpos", "pipeline_state.q", "info.steps".
    """

    step: Callable[[Any, Any, Any], Any]
    """`step(parameters, state, control) -> state`: one step of one replay, traceable, the state's structure
    kept. A system that a policy drives computes its action in here, and takes controls of size 0.
    """

    parameters: Any
    """A pytree of arrays that all replays share: the MJX model, the weights of a policy."""

    blank: Any
    """The state of one replay, as a pytree of arrays. Which values stand in it is of no account, except where
    neither the recording's `starts` nor the step writes them.
    """

    controls: int
    """The size of one step's control, 0 where nothing is driven from outside."""

    carried: tuple[str, ...]
    """The leaves from which, with a control, the next step follows. Whatever the step reads must be among
    them, integers and random keys too: they are what a failed replay's row is filled with anew.
    """

    state: tuple[str, ...]
    """Those of `carried` that an integrator hands on, floating: one-step errors are relative to their norm.
    """

    coordinates: str
    """The leaf whose coordinates tell when a replay has left another: radians or metres."""

    ends: tuple[str, ...] | None = None
    """Floating leaves of `carried` of which one that is not finite ends a replay; None: each of them does."""

    kept: tuple[str, ...] | None = None
    """The leaves whose values after every step are handed out; None: those of `carried`. Where fewer are kept
    than carried, no single step can be taken from them.
    """

    shared: tuple[str, ...] = ()
    """Leaves without an axis of replays, which a whole batch shares, as some of MuJoCo Warp's are. With such,
    lanes run one after another, and `blank` holds them as they are.
    """

    pipeline: tuple[str, ...] = ()
    """Floating leaves in the order in which a step computes them. One that is not listed counts as last."""

    seconds: float
    """Simulated seconds of one step."""

    follows_x64: bool = False
    """Whether a library computes the step that is known to compute in float64 with `jax_enable_x64`, as MJX.
    Of any other, a replay at x64 traces a step and refuses what fixes float32 (`replay/float64.py`).
    """

    driven: Driven | None = None
    """The policy that computes the action inside the step; None: there is none. With one, `kept` holds the
    leaves "reward" and "done" too.
    """


@dataclass(frozen=True, kw_only=True)
class Twin:
    """The same physics in MuJoCo's C engine."""

    model: Any
    """The `mujoco.MjModel`."""

    substeps: int = 1
    """Of C in one step of the simulation."""

    leaves: Mapping[str, str] = field(
        default_factory=lambda: {name: name for name in ("qpos", "qvel", "act", "qacc_warmstart")}
    )
    """What `mujoco.MjData` calls a field, and what the simulation calls the leaf that holds it."""

    control: str | None = "ctrl"
    """The field of `mujoco.MjData` that a control goes into; None: no control comes from outside."""


@dataclass(frozen=True, kw_only=True)
class System:
    """One kind of thing that is replayed. A module of `systems/` defines one."""

    record: Callable[[RecordPlan, Path, Progress], tuple[Recording, Model | None]]
    """Start states and controls by the plan's seed, and what can be said of the model without replaying it.

    Called once, before anything slow is begun: what cannot be replayed is refused within seconds, with the
    line that is at fault. Keeps in the folder whatever `load` needs. `Recording.starts` holds an array of
    replays x shape for each leaf of the state that differs between replays.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
    """

    load: Callable[[RecordPlan, Path], Simulation]
    """The simulation, in every worker and in the precision that JAX is configured for there.

    Raises:
        UnsupportedModelError: it cannot be stepped in JAX.
    """

    twin: Callable[[RecordPlan, Path], Twin | None] | None = None
    """The same physics in MuJoCo's C engine, where there is such: it tells MJX's faults from the model's."""

    pack: Callable[[RecordPlan, Path], tuple[PackedModel, Mapping[str, bytes]] | None] | None = None
    """What a bundle holds of the model, so that it can be stepped where the argument names nothing."""

    unpack: Callable[[Bundle, Path], None] | None = None
    """Puts into the folder what `load` needs, from a bundle that holds a model.

    Raises:
        UnreadableError, UnsupportedModelError: the model in it cannot be used here.
    """


Packed = tuple[PackedModel, Mapping[str, bytes]]
"""A model as a bundle holds it, and its files by member."""


SYSTEMS = Folder("jaxdoctor.replay.systems", System, noun="system")


def system_of(argument: str) -> System:
    """The system that steps what an argument of `probe` names.

    Raises:
        UsageError: no source takes the argument.
    """
    return SYSTEMS.load(find_source(argument).system)
