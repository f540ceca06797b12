"""What a bundle holds, as a value, and how it lies in its file.

A bundle is a zip file of at most 50 MiB. Nothing in it is a pickle or is executed. Its members are

| member | what it is |
|---|---|
| `manifest.json` | everything that is no array, by `jaxdoctor/schema/bundle-1.json`; UTF-8 |
| `state/N.npy` | one leaf of the state before each recorded step: steps x the leaf's shape |
| `start/N.npy` | one leaf of the state that a replay starts from, where that is no recorded one |
| `control.npy` | the controls from the start to the step that failed: steps x controls |
| `model/compiled.mjb` | the compiled model, which opens in the MuJoCo that saved it |
| `model/files/...` | the XML with every file that it needs; absent where only a model was |
| `policy/N.npy` | one array of a policy, which are stored only where that was asked for |

Arrays are NumPy's own format without pickles, in C order and little-endian: `numpy.load(FILE)["state/0"]` is
one, too. `manifest.json` names each member with its size and SHA-256; a file that holds anything else, or
lacks something, is refused. A manifest's keys are those of `manifest_of` below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = "jaxdoctor.bundle/1"
MANIFEST = "manifest.json"
CONTROL = "control.npy"
COMPILED = "model/compiled.mjb"
FILES = "model/files/"
POLICY = "policy/"

MOST_BYTES = 50 << 20
"""Of the file."""

MOST_INFLATED = 512 << 20
"""Of all its members together."""

STEPS = 64
"""So many steps before a failure are recorded, the one that fails among them."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Which replay failed, and how it was computed."""

    step: int
    """Counted from the start of the rollout, from 0 on."""

    field: str
    """The first leaf, in the order in which a step computes them, that was not finite."""

    fields: tuple[str, ...] = ()
    """Every leaf that was not finite after that step."""

    replay: int = 0
    """Which row of the batch, or which of the recording's replays."""

    precision: str = ""
    """"tf32", "f64", or the setting of JAX under which it ran."""

    emulated: bool = False
    """Whether products were rounded by a program, as those of another machine."""

    bits: int | None = None
    """The mantissa bits of an emulated product."""

    toward_zero: bool = False
    all_products: bool = False
    """Whether products were rounded that no matrix unit computes."""

    batch: int = 1
    lanes: int = 1
    """Rows of the program that ran: another batch compiles to other kernels."""

    xla_flags: str = ""
    """XLA_FLAGS of the process that ran it."""

    @property
    def name(self) -> str:
        """As a report says it: "tf32 (emulated)"."""
        words = self.precision or "as JAX was set"
        return f"{words} (emulated)" if self.emulated else words


@dataclass(frozen=True, kw_only=True)
class PackedModel:
    """A model as a bundle holds it."""

    mujoco: str
    """The version of MuJoCo that compiled it."""

    main: str | None = None
    """The member that is the XML's outermost file; None where there are no files."""

    left_out: str | None = None
    """Why there are none."""


@dataclass(frozen=True, kw_only=True)
class PackedArray:
    """One array of a policy."""

    dtype: str
    """As NumPy and ml_dtypes call it. What NumPy lacks is stored as the unsigned integers of its bits."""

    shape: tuple[int, ...]
    content: bytes
    """Its elements in C order and little-endian."""


@dataclass(frozen=True, kw_only=True)
class PackedPolicy:
    """A policy as a bundle holds it: what it was read as, and no code."""

    kind: str
    """The name of a file in `rollouts/policies/`, which builds it again."""

    name: str
    """What a report calls it."""

    network: str | None = None
    """The user's function that is its network, whose code is not in a bundle."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """Of its network, as JSON has it."""

    arrays: Mapping[tuple[str, ...], PackedArray] = field(default_factory=dict)
    """By the keys of their place in the saved tree."""

    left_out: str | None = None
    """Why its arrays are not there."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """One failure."""

    written_by: str
    """"probe" or "guard"."""

    subject: str
    """The argument that named it: a path, "scenario:hand", "brax:ant"."""

    system: str
    """What steps it: a file of `jaxdoctor/replay/systems/`."""

    failure: Failure
    first_step: int
    """Of the recorded ones, counted as `Failure.step` is."""

    state: Mapping[str, Any]
    """By leaf: steps x the leaf's shape, before each recorded step."""

    control: Any
    """Steps x controls, from the start to the step that failed."""

    start: Mapping[str, Any] = field(default_factory=dict)
    """By leaf: the state before `start_step`, where `state` has not all that a step reads. An environment, of
    which so much is carried that no step's whole state is kept, is started from its own reset.
    """

    start_step: int | None = None
    """Where a replay starts; None: at the first recorded step, from `state`."""

    substeps: int = 1
    """Of the physics in one recorded step, where the model alone is stepped."""

    keys: tuple[str, ...] = ()
    """Leaves of `state` that are random keys."""

    seed: int = 0
    replays: int = 1
    """How many the recording had, and the seed that they came from."""

    model: PackedModel | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Members that are no arrays: the model's."""

    policy: PackedPolicy | None = None
    """What drove an environment; None: it was not asked for."""

    versions: Mapping[str, str | None] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of JAX and XLA, as they were when it failed."""

    environment: Mapping[str, Any] | None = None
    """The environment of the report, with its keys."""

    tool: str = ""
    """The version of jaxdoctor that wrote it."""

    written_at: str = ""
    """In UTC, by ISO 8601."""

    @property
    def steps(self) -> int:
        """How many are recorded."""
        return self.failure.step - self.first_step + 1

    @property
    def begins(self) -> int:
        """The step at which a replay starts."""
        return self.first_step if self.start_step is None else self.start_step

    @property
    def starts(self) -> Mapping[str, Any]:
        """The leaves from which a replay starts."""
        if self.start_step is not None:
            return self.start
        return {leaf: values[0] for leaf, values in self.state.items()}


def manifest_of(
    bundle: Bundle,
    state: Mapping[str, str],
    start: Mapping[str, str],
    policy: Mapping[tuple[str, ...], str],
    parts: Mapping[str, Any],
) -> dict[str, Any]:
    """What stands in `manifest.json`.

    Args:
        bundle: what is written.
        state: the member of each recorded leaf.
        start: the member of each leaf that a replay starts from.
        policy: the member of each array of the policy.
        parts: size and SHA-256 of each member.
    """
    return {
        "schema": SCHEMA,
        "tool": {"name": "jaxdoctor", "version": bundle.tool},
        "written_at": bundle.written_at,
        "written_by": bundle.written_by,
        "subject": bundle.subject,
        "system": bundle.system,
        "seed": bundle.seed,
        "replays": bundle.replays,
        "substeps": bundle.substeps,
        "failure": {**asdict(bundle.failure), "fields": list(bundle.failure.fields)},
        "first_step": bundle.first_step,
        "steps": bundle.steps,
        "state": dict(state),
        "start_step": bundle.start_step,
        "start": dict(start),
        "keys": list(bundle.keys),
        "control": CONTROL,
        "model": None if bundle.model is None else asdict(bundle.model),
        "policy": None if bundle.policy is None else _written_policy(bundle.policy, policy),
        "versions": dict(bundle.versions),
        "settings": dict(bundle.settings),
        "environment": None if bundle.environment is None else dict(bundle.environment),
        "parts": dict(parts),
    }


def _written_policy(policy: PackedPolicy, members: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    return {
        "kind": policy.kind,
        "name": policy.name,
        "network": policy.network,
        "config": dict(policy.config),
        "arrays": [
            {"member": members[keys], "keys": list(keys), "dtype": array.dtype}
            for keys, array in policy.arrays.items()
        ],
        "left_out": policy.left_out,
    }
