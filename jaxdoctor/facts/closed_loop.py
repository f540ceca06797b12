"""What a policy and its environment did in a closed loop, besides staying finite."""

from __future__ import annotations

import enum
from dataclasses import dataclass

POLICY_SCOPE = "jaxdoctor-policy"
"""The scope in which the equations of a policy are traced: `jax.named_scope`."""


class Part(enum.StrEnum):
    """Where a closed loop was first not finite."""

    OBSERVATION = "observation"
    NORMALISER = "normaliser"
    OUTPUT = "policy output"
    ACTION = "action"
    PHYSICS = "physics"
    REWARD = "reward"

    @property
    def is_the_policys(self) -> bool:
        """Whether the policy computes it."""
        return self in (Part.NORMALISER, Part.OUTPUT, Part.ACTION)


@dataclass(frozen=True)
class Mean:
    """A mean over replays with its 95 % interval, by Student's t distribution."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """The episodes of the replays at one precision: each ends where `done` becomes true."""

    ended: int
    """Replays whose episode ended within the steps."""

    longest: int | None = None
    """The most steps of a replay until its episode ended, it failed, or the rollout was over."""

    returns: Mean | None = None
    """The sum of rewards until the end; None: fewer than two replays stayed finite so long."""

    change: Mean | None = None
    """The same less that of float32 from the same start; None: this is float32, or there are too few."""

    masked: int = 0
    """Replays whose `done` became true at the step at which they were not finite any more."""

    surviving: int = 0
    """Replays that were not finite while their `done` stayed false, so that no auto-reset mends them."""

    entering: int = 0
    """Replays of which an observation that is not finite, or beyond 10^6 standard deviations, would have
    reached the update of a normaliser.
    """

    part: Part | None = None
    """Where the first failing replay was first not finite."""

    magnitude: float | None = None
    """The largest number in the finite observation that the policy saw then; None: it saw no finite one."""

    deviations: float | None = None
    """The largest distance of it from the normaliser's mean, in its standard deviations."""

    farthest: float | None = None
    """The same over all finite observations of all replays."""


@dataclass(frozen=True, kw_only=True)
class AutoReset:
    """The closed loop as training runs it, each row begun anew where its episode ends."""

    rows: int
    steps: int
    masked: int
    """Ends at a step at which the state was not finite: nothing of it is seen afterwards."""

    left: int
    """Rows that were not finite although nothing ended, or still after their reset."""


@dataclass(frozen=True, kw_only=True)
class OpenLoop:
    """The environment alone at one precision, with the actions of the closed loop at float32."""

    precision: str
    failed: int
    replays: int
    first_bad_step: int | None = None
    first_bad_field: str | None = None


MJX = "MJX"
"""MuJoCo's engine in JAX."""

WARP = "MuJoCo Warp"
"""The engine that no precision of JAX reaches."""

OWN = "its own"
"""The environment computes its physics itself."""


@dataclass(frozen=True, kw_only=True)
class ClosedLoop:
    """A policy and the environment that it drives."""

    engine: str
    """What stepped the physics: "MJX", "MuJoCo Warp", "Brax generalized", or `OWN`."""

    policy: str
    trained: bool
    """Whether it was read or made by the user, not drawn at random."""

    normalises: bool
    """Whether it has the statistics of a normaliser."""

    scales: tuple[float, float] | None = None
    """The smallest and the largest root mean square of an entry of the observations at float32."""

    only_batched: tuple[str, ...] = ()
    """Lines whose products a matrix unit computes in the batch and not in a batch of one."""

    only_alone: tuple[str, ...] = ()
    """The other way round."""

    policy_bits: int | None = None
    """The least width of the policy's products alone at which it is as finite as at float32."""

    physics_bits: int | None = None
    """The same of all other products."""

    auto_reset: AutoReset | None = None
    """At what is delivered; None: it was not looked at."""

    open_loop: tuple[OpenLoop, ...] = ()

    @property
    def physics(self) -> str:
        """Where the physics runs: "MJX", or "physics of its own"."""
        return "physics of its own" if self.engine == OWN else self.engine
