"""What the workers of a probe are asked and what they answer. Nothing here imports jax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jaxdoctor.bundles.bundle import Failure
from jaxdoctor.facts.attribution import Attribution
from jaxdoctor.facts.bundle_replay import BundleRun
from jaxdoctor.facts.closed_loop import AutoReset, ClosedLoop, Episodes, OpenLoop
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.model import Model
from jaxdoctor.facts.outcome import Parting, RolledInC, StepInC
from jaxdoctor.facts.precision import F32, Precision
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.workers.task import Task


@dataclass(frozen=True, kw_only=True)
class RecordPlan:
    """What is replayed."""

    model: str
    """What a source loads: a path, or "scenario:hand"."""

    controls: str | None
    replays: int
    """As many as may ever be needed."""

    light_replays: int = 0
    """At least so many where the model has few degrees of freedom, so that a replay costs next to nothing."""

    steps: int | None
    """None: as many as the file of controls has, or as `rollouts/record.py` gives by default."""

    seed: int
    keep: Path | None = None
    """Where what was played is kept; None: nowhere."""

    policy: SavedPolicy | None = None
    """What drives an environment, as the command has read it; None: nothing is driven."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a probe needs to know about a recording before it replays it."""

    steps: int
    replays: int
    """How many there are to replay."""

    start: str
    controls: str | None
    in_c: RolledInC
    """How MuJoCo's own rollout of it in float64 went."""

    model: Model | None = None
    """What can be said of it without replaying it."""

    loop: ClosedLoop | None = None
    """The policy that drives, and what; None: none does."""

    seconds: float | None = None
    """Simulated seconds of one step; None: they are not told."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One row of replays in the program: how it multiplies, and which replays it runs."""

    bits: int = F32.mantissa_bits
    toward_zero: bool = False
    explicit_bits: int | None = None
    """The width of products that name a precision of their own; None: as all others."""

    only: int | None = None
    """The index of the one site that is rounded, while all others keep their bits; None: all are."""

    by_site: tuple[int, ...] | None = None
    """The width of each site, in program order; None: as the fields above say."""

    forced: bool = False
    """Every step starts from the reference's state instead of the lane's own: one-step errors."""

    disturbed: bool = False
    """The start state is moved by one float32 unit roundoff: a shadow replay."""

    first: int = 0
    """The first of the recording's replays that it runs."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What all replays of one lane, or of several lanes alike, did."""

    lane: Lane
    replays: int
    steps: int
    failed: int
    first_bad_step: int | None
    first_bad_field: str | None
    bad_fields: tuple[str, ...]
    """Every field that was bad in any replay at its first bad step."""

    hidden: int
    """Replays that failed although qpos, qvel and act stayed finite to the end."""

    first_bad_replay: int | None = None
    """A replay that was bad at the first bad step."""

    horizon: float | None = None
    one_step_error: float | None = None
    seconds_per_step: float | None = None
    episodes: Episodes | None = None
    """Of a closed loop; None: no policy drives."""

    def with_episodes(self, episodes: Episodes) -> Judgement:
        """The same with what its episodes did."""
        return replace(self, episodes=episodes)


@dataclass(frozen=True, kw_only=True)
class Captured:
    """One failure with the steps before it, which lie in the scratch folder."""

    failure: Failure
    first_step: int
    start_step: int | None = None
    """As in a bundle."""

    @property
    def file(self) -> str:
        """Its name in the folder."""
        kind = "emulated" if self.failure.emulated else "native"
        return f"capture-{kind}-{self.failure.precision}.npz"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What a worker's time went into, in seconds of wall time."""

    traced: float | None = None
    """From the start of its process to the traced program. None: it has not come so far."""

    compiled: float | None = None
    """The compile alone. None: it has not ended."""

    launched: float | None = None
    """The first launch. None: it has not ended."""


@dataclass(frozen=True, kw_only=True)
class NativePlan:
    """What one worker replays."""

    title: str
    """What progress calls it: "float32"."""

    batch: int
    replays: int
    most_replays: int
    clear_above: float = 1.0
    """No failure is clear as soon as the share is below this, at 95 %. 0: not before `most_replays`."""

    is_reference: bool = False
    """Whether the others are compared with it: it publishes its states, and runs the shadow."""

    deadline: float
    """The moment of `time.monotonic()`, the same in every process, at which it begins nothing more."""

    compile_cpu_seconds: float | None = None
    """After so much CPU time of the compile it gives up. None: it never does."""

    chunk_cpu_seconds: float | None = None
    """After so much CPU time of the first chunk of steps it gives up. None: it never does."""

    one_by_one: bool = False
    """Also in a batch of one."""

    priced: bool = False
    """Also the time of a step, at last, while no other worker computes."""

    captures: Precision | None = None
    """What this setting is, where the steps before the first failure are to be kept; None: they are not."""


@dataclass(frozen=True, kw_only=True)
class NativeReplay:
    """What one setting did, and what it costs. It is handed over anew whenever more of it is known."""

    judgement: Judgement | None = None
    shadow_horizon: float | None = None
    seconds_per_step: float | None = None
    compile_seconds: float | None = None
    peak_bytes: int | None = None
    singly: Judgement | None = None
    """The same states in a batch of one."""

    parting: Parting | None = None
    """Of the reference: how far it is from C; None: there is no twin."""

    steps_in_c: tuple[StepInC, ...] | None = None
    """The steps in which replays failed, taken by C; None: none did, or there is no twin."""

    outgrown: int | None = None
    """Of the reference: replays that fail, pass MuJoCo's limit or gain speed without bound."""

    captured: Captured | None = None
    effort: Effort = field(default_factory=Effort)


@dataclass(frozen=True, kw_only=True)
class CurePlan:
    """What changes to a failing model are tried on."""

    batch: int
    first: int = 0
    """The first of the recording's replays that are tried."""

    near: bool = False
    """From shortly before the step that fails on, instead of from the start: for the engine's own faults."""

    where: str
    """What a cure says replayed it: "MJX at x64"."""

    only: str | None = None
    """The one change that needs a program of its own; None: those of numbers, which share one."""

    deadline: float
    """The moment of `time.monotonic()` at which the worker should be through."""


@dataclass(frozen=True, kw_only=True)
class PartingPlan:
    """Where MJX parts from C, of which the first field is looked for."""

    worst: tuple[tuple[int, int], ...]
    """Step and replay."""


@dataclass(frozen=True, kw_only=True)
class WarpPlan:
    """What MuJoCo Warp replays."""

    batch: int
    deadline: float
    """The moment of `time.monotonic()` at which it begins no further step."""


@dataclass(frozen=True, kw_only=True)
class SweepPlan:
    """What the emulation is asked."""

    batch: int
    replays: int
    most_replays: int
    clear_above: float
    """As in `NativePlan`, for the two widths that decide: float32 and what is delivered."""

    named: tuple[Precision, ...]
    """With horizon and one-step error."""

    delivered: Precision | None
    """What the machine's products get; its replays are raised until they are clear."""

    widths: tuple[int, ...]
    """Only how many fail; rounded as what is delivered is. Wide ones first. Of those between one that is as
    finite as float32 and one that is not, `searched` says which are tried."""

    searched: bool = False
    """Whether the widths around the first that fails are tried one by one; else every one of `widths` is."""

    deadline: float
    """The moment of `time.monotonic()`, the same in every process, at which it begins nothing more."""

    compile_cpu_seconds: float | None = None
    """After so much CPU time of the compile it gives up. None: it never does."""

    chunk_cpu_seconds: float | None = None
    """After so much CPU time of the first chunk of steps it gives up. None: it never does."""

    lanes: int = 4
    """Widths replayed at once. A launch takes as long as its replays are many, failed ones included."""

    compares: bool = True
    """Whether there will be an x64 replay to compare with."""

    all_products: bool = False
    one_by_one: bool = False
    """Also in a batch of one, whose products are of other classes."""

    behaves: bool = False
    """Also the width at which replays leave the x64 ones sooner than float32's do."""

    keep: Path | None = None
    """Where what the policy of a closed loop plays at float32 is kept; None: nowhere."""

    varied: bool = False
    """Also a closed loop with auto-reset and open, where nothing failed."""

    attribute: bool = False
    """Also the smallest sets of products that must be exact, where what is delivered fails."""

    attribute_error: float | None = None
    """Also those for a one-step error that is at most this."""

    captures: bool = False
    """Whether the steps before the first failure at each named precision are kept."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What the emulation answered. It is handed over anew whenever more of it is known."""

    named: tuple[tuple[Precision, Judgement], ...] = ()
    widths: tuple[tuple[int, Judgement], ...] = ()
    with_highest: Judgement | None = None
    """At 23 bits except where the code names a precision itself, which stays as delivered.

    None: the code names none, so that `highest` reaches every product.
    """

    sites: tuple[str, ...] = ()
    """Every line whose products are rounded."""

    explicit_sites: tuple[str, ...] = ()
    """Those that name a precision of their own."""

    scales: tuple[float, float] | None = None
    """The smallest and the largest root mean square of an entry of a closed loop's observations."""

    policy_bits: int | None = None
    """What the products of a closed loop's policy alone require; None: there is none, or it is not known."""

    physics_bits: int | None = None
    """The same of all others."""

    auto_reset: AutoReset | None = None
    open_loop: tuple[OpenLoop, ...] = ()
    unreached: tuple[str, ...] = ()
    culprits: tuple[str, ...] = ()
    """Sites of which one alone, at what is delivered, makes replays fail that float32 does not."""

    singly: Judgement | None = None
    """At what is delivered, in a batch of one."""

    behaviour_bits: int | None = None
    """The smallest width from which on replays stay with those at x64 about as long as float32's do."""

    attribution: Attribution | None = None
    """The smallest sets of sites that must be exact; None: not asked, or what is delivered does not fail."""

    error_attribution: Attribution | None = None
    """The same for a bound on the one-step error; None: not asked, or there is nothing to compare with."""

    peak_bytes: int | None = None
    """Memory of the compiled program, divided by its lanes: what one batch takes."""

    captured: tuple[Captured, ...] = ()
    unfinished: tuple[str, ...] = ()
    """What was left out, and why."""

    effort: Effort = field(default_factory=Effort)


@dataclass(frozen=True, kw_only=True)
class SinglePlan:
    """What is replayed in a batch of one."""

    named: tuple[Precision, ...]
    """Float32 first: the returns of the others are compared with it."""

    replays: int
    deadline: float
    """The moment of `time.monotonic()` at which it begins nothing more."""


@dataclass(frozen=True, kw_only=True)
class Single:
    """What a batch of one did. It is handed over anew whenever more of it is known."""

    sites: tuple[str, ...]
    """Every line whose products are rounded in it."""

    named: tuple[tuple[Precision, Judgement], ...] = ()
    effort: Effort = field(default_factory=Effort)


PREPARE: Task[[str, RecordPlan], Prepared] = Task("jaxdoctor.replay.prepare:prepare")
"""Records the rollout into the scratch folder."""

SWEEP: Task[[str, SweepPlan], Sweep] = Task("jaxdoctor.replay.sweep:sweep")
"""Replays what the scratch folder holds at every width of the plan."""

SINGLE: Task[[str, SinglePlan], Single] = Task("jaxdoctor.replay.single:replay")
"""Replays what the scratch folder holds in a batch of one."""

NATIVE: Task[[str, NativePlan], NativeReplay] = Task("jaxdoctor.replay.native:replay")
"""Replays what the scratch folder holds as JAX is configured in the worker."""

CURES_IN_C: Task[[str, CurePlan], tuple[Cure, ...]] = Task("jaxdoctor.replay.cures:try_in_c")
"""Tries every change to the model in MuJoCo's C engine."""

CURES_IN_MJX: Task[[str, CurePlan], tuple[Cure, ...]] = Task("jaxdoctor.replay.cures:try_in_mjx")
"""Tries changes to the model in MJX, as JAX is configured in the worker."""

PARTING: Task[[str, PartingPlan], tuple[str, float] | None] = Task(
    "jaxdoctor.replay.parting_field:first_field"
)
"""Names the first field in which MJX parts from C, and by how much; the worker is in x64."""

WARP: Task[[str, WarpPlan], Judgement | None] = Task("jaxdoctor.replay.warp:replay")
"""Replays the recording in MuJoCo Warp and holds it against C."""


@dataclass(frozen=True, kw_only=True)
class BundlePlan:
    """What is written into a bundle besides what the scratch folder holds."""

    path: str
    subject: str
    captured: Captured
    versions: Mapping[str, str | None]
    settings: Mapping[str, str]
    environment: Mapping[str, Any]
    with_policy: bool = False


BUNDLE: Task[[str, BundlePlan], RecordedFailure] = Task("jaxdoctor.replay.bundle_writer:write_bundle")
"""Writes one captured failure into a bundle."""


@dataclass(frozen=True, kw_only=True)
class ReplayPlan:
    """How a bundle is replayed by one worker, as JAX is configured in it."""

    bundle: str
    argument: str | None = None
    """What steps it, as the user names it: where the bundle holds no model, or names code of the user's."""

    policy: SavedPolicy | None = None
    """What drives an environment, as the command has read it."""

    precisions: tuple[Precision, ...] = ()
    """Emulated, in one program. Empty: as JAX computes here."""

    how: str = ""
    """What a replay that is not emulated is called."""

    all_products: bool = False
    deadline: float


REPLAY_IN_JAX: Task[[str, ReplayPlan], tuple[BundleRun, ...]] = Task(
    "jaxdoctor.replay.bundle_runs:replay_in_jax"
)
"""Replays a bundle with the emulated precisions, or as JAX is configured in the worker."""

REPLAY_IN_C: Task[[str, ReplayPlan], tuple[BundleRun, ...]] = Task("jaxdoctor.replay.bundle_runs:replay_in_c")
"""Replays a bundle in MuJoCo's C engine."""

REPLAY_IN_WARP: Task[[str, ReplayPlan], tuple[BundleRun, ...]] = Task(
    "jaxdoctor.replay.bundle_runs:replay_in_warp"
)
"""Replays a bundle in MuJoCo Warp."""

VIEWED: Task[[str, ReplayPlan], str] = Task("jaxdoctor.replay.viewer_files:write_viewer_files")
"""Writes what MuJoCo's viewer opens at the failing state into the folder, and says how."""
