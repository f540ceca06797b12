"""What a probe concludes about one rollout: required bits against delivered bits."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxdoctor.facts.attribution import Attribution
from jaxdoctor.facts.closed_loop import ClosedLoop
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.facts.trial import Kind, Trial


class Verdict(enum.StrEnum):
    """The answer to "will this run break on that card?"."""

    HEALTHY = "healthy"
    PRECISION = "precision"
    """It fails at what the card delivers and not at a higher precision."""

    ENGINE = "engine"
    """It fails at x64 too, in a step that MuJoCo in C takes: MJX's own fault."""

    MODEL = "model"
    """It fails at x64 and in MuJoCo in C too: the physics, not the precision."""

    UNKNOWN = "unknown"


BEYOND_BITS = (Verdict.ENGINE, Verdict.MODEL)
"""Verdicts of what no number of bits mends."""


@dataclass(frozen=True, kw_only=True)
class SolverEffort:
    """How many iterations MuJoCo's solver took over all steps of a recording, in float64."""

    steps: int
    mean: float
    largest: int
    at_limit: int
    """Steps that took every iteration that the model allows."""

    limit: int
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Replays that gain speed by a factor in every step while MuJoCo in C simulates them in float64."""

    growing: int
    replays: int
    speeds: tuple[float, float]
    """The largest in the first and in the last tenth of the fastest: radians or metres per second."""

    energies: tuple[float, float]
    """Likewise the kinetic energy, in joules."""


@dataclass(frozen=True, kw_only=True)
class RolledInC:
    """How MuJoCo's own rollout of start states and controls went, in float64 and with auto-reset off."""

    replays: int = 0
    warnings: Mapping[str, int] = field(default_factory=dict)
    """By short name: "BADQACC" to how often."""

    nonfinite: int = 0
    """Replays that did not stay finite."""

    unusable: int = 0
    """Replays that did not stay finite or passed MuJoCo's own limit of 1e10."""

    first_unusable_step: int | None = None
    solver: SolverEffort | None = None
    """None: nothing constrained the model in any step."""

    growth: Growth | None = None
    """None: no replay gains speed by a factor in every step."""


@dataclass(frozen=True, kw_only=True)
class StepInC:
    """One step that MJX fails in at x64, taken by MuJoCo in C and float64 from the same state and control."""

    step: int
    replay: int
    holds: bool
    """Whether C ends it finite, within MuJoCo's own limits and without a warning."""

    warnings: tuple[str, ...] = ()
    """Short names: "BADQACC"."""


BEGUN_APART = 0.02
"""The share of steps that differ because a contact begins in one engine a step earlier than in the other."""


@dataclass(frozen=True, kw_only=True)
class Parting:
    """How far MJX at x64 is from MuJoCo in C after one step from the same state, and over the rollout."""

    steps: int
    """Steps of C's own rollouts that MJX took once more, each from C's state before it."""

    parted: int
    """Those after which the velocity differs by more than the solver's stopping tolerance explains."""

    error: float
    """The largest difference in velocity, relative to how much that step changed it."""

    tolerance: float
    """The error that the solver's stopping tolerance explains."""

    worst: tuple[tuple[int, int], ...] = ()
    """Step and replay of the largest ones."""

    horizon: float | None = None
    """Median steps until a free x64 replay has left C's; None: it never did."""

    field: str | None = None
    """The first in pipeline order that parts: "qfrc_passive"; None: not looked for, or not found."""

    field_error: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether more steps differ than those in which the two begin a contact one step apart."""
        return self.parted > BEGUN_APART * self.steps


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The native float32 replay, compiled with other flags of XLA."""

    flags: str
    """As in XLA_FLAGS; "" for none."""

    failed: int
    replays: int
    first_bad_step: int | None = None
    first_bad_field: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One rollout's trials and what follows from them."""

    subject: str
    trials: tuple[Trial, ...]
    verdict: Verdict
    required_bits: int | None = None
    """The smallest width from which on the ensemble is as finite as at float32; None: not known."""

    delivered_bits: int | None = None
    delivered_by: str = "here"
    """The machine or the card's name."""

    as_delivered: Trial | None = None
    """The trial that decides: at what the machine or the card delivers."""

    reason: str | None = None
    """Why the verdict is unknown, or what it leaves open."""

    steps: int | None = None
    """How long each replay was."""

    start: str | None = None
    """Where the replays start: "keyframe home", "init_qpos", "qpos0", or a file."""

    controls: str | None = None
    """What drove them: "band-limited random", or a file."""

    in_c: RolledInC = field(default_factory=RolledInC)
    """What MuJoCo itself made of them in float64."""

    steps_in_c: tuple[StepInC, ...] | None = None
    """The steps in which x64 replays failed, taken by C, earliest first; None: there is no C twin to ask."""

    parting: Parting | None = None
    """MJX at x64 against C; None: there is no C twin, or no time was left."""

    cures: tuple[Cure, ...] = ()
    """Changes to the model, those first that were likeliest; empty where none was looked for."""

    loop: ClosedLoop | None = None
    """The policy that drove, and what; None: controls did."""

    warp: Trial | None = None
    """MuJoCo Warp's own replay; its horizon and one-step error are against C. None: it was not asked for."""

    xla_flags: str = ""
    """What the native replays were compiled with."""

    compiled: tuple[Compiled, ...] = ()
    """The float32 replay with XLA's default flags and without fusion; empty below level 3."""

    timestep: float | None = None
    """Seconds of simulated time per step."""

    behaviour_bits: int | None = None
    """The smallest width from which on replays stay with those at x64 at least half as long as float32's do.

    None: it was not looked for."""

    rounded: int | None = None
    """How many of its products run on matrix units; None: not known."""

    memory: Memory | None = None
    """What a replay takes of it; None: nothing was compiled."""

    timed_on: str | None = None
    """The device whose times the native trials have, where it is not the one that is judged."""

    float64_rate: float | None = None
    """The judged card's published rate of float64, as a share of that of float32."""

    products: tuple[str, ...] = ()
    """Lines of code whose products the emulation rounds: "mujoco/mjx/_src/support.py:67 (make_m)"."""

    culprits: tuple[str, ...] = ()
    """Those of `products` of which one alone, as delivered, makes replays fail."""

    attribution: Attribution | None = None
    """Which of `products` must be exact to stay finite; None: it was not searched."""

    error_attribution: Attribution | None = None
    """Which of them must be exact for a bound on the one-step error; None: it was not searched."""

    own_precision: tuple[str, ...] = ()
    """Those of `products` that name a precision of their own, which no setting reaches."""

    at_highest: Trial | None = None
    """With every bit but in `own_precision`; None when there is none, so that `highest` reaches all."""

    expected: Verdict | None = None
    """What a packaged scenario was built to show, on a card with TF32."""

    bundle: RecordedFailure | None = None
    """The failing replay that was written into a file; None: none was, or none was asked for."""

    @property
    def is_call(self) -> bool:
        """Whether a function was called, and no model stepped: a call has arguments and no controls."""
        return self.start is not None and self.controls is None

    @property
    def subject_word(self) -> str:
        """What sentences call it."""
        return "function" if self.is_call else "rollout"

    @property
    def replay_word(self) -> str:
        """What sentences call one of its replays."""
        return "call" if self.is_call else "replay"

    @property
    def stepped(self) -> str:
        """What a cure wraps: "step", or the function by its name."""
        return self.subject.rpartition(":")[2] if self.is_call else "step"

    def first_bad(self, trial: Trial) -> str:
        """Where a trial was first not finite: "qLD at step 0"; of a call only in which output."""
        step = self.first_bad_step(trial)
        return f"{trial.first_bad_field}" if step is None else f"{trial.first_bad_field} at step {step}"

    def first_bad_step(self, trial: Trial) -> int | None:
        """The step in which a trial was first not finite; None of a call, which has none."""
        return None if self.is_call else trial.first_bad_step

    @property
    def fewer_untried(self) -> bool:
        """Whether the search ended before the next smaller width was replayed, so that fewer bits may do."""
        required = self.required_bits
        if required is None or not 1 < required <= F32.mantissa_bits:
            return False
        tried = {trial.precision.mantissa_bits for trial in self.trials if trial.kind is Kind.EMULATED}
        return bool(tried) and required - 1 not in tried

    @property
    def margin_bits(self) -> int | None:
        """Delivered minus required bits: the headline."""
        if self.required_bits is None or self.delivered_bits is None:
            return None
        return self.delivered_bits - self.required_bits


@dataclass(frozen=True, kw_only=True)
class Demand:
    """A margin that the user wants a rollout to keep."""

    outcome: Outcome
    margin_bits: int
