"""What to set, why, and at what price: the union of what the findings ask for, ready to paste."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Means(enum.StrEnum):
    """How a setting reaches JAX."""

    JAX = "jax"
    """`jax.config.update(key, value)`, or the variable of that name in capitals."""

    XLA = "xla"
    """A flag in XLA_FLAGS."""

    ENVIRONMENT = "environment"
    """Any other environment variable."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One thing to set."""

    means: Means
    key: str
    """"jax_default_matmul_precision", "xla_gpu_enable_fast_min_max", "NVIDIA_TF32_OVERRIDE"."""

    value: str | bool
    because: tuple[str, ...]
    """Codes of the findings that ask for it."""

    reason: str
    """In one sentence."""

    price: str | None = None
    """As measured, with where: "2.1 x the time per step, on this machine"; None: not measured."""

    this_machine: bool = False
    """Whether it is about the processor of the machine that was looked at, whichever card is judged."""

    @property
    def word(self) -> str:
        """The value as an environment variable spells it."""
        return str(self.value).lower() if isinstance(self.value, bool) else self.value


@dataclass(frozen=True, kw_only=True)
class Prescription:
    """Everything to set, and what it does not reach."""

    settings: tuple[Setting, ...] = ()
    reach: tuple[str, ...] = ()
    """What the settings leave as it is, one sentence each."""

    instead: tuple[str, ...] = ()
    """What does as well as a setting and reaches less, one sentence or statement each."""

    conflicts: tuple[str, ...] = ()
    """Settings that two reports want differently, one sentence each: neither is among `settings`."""

    removals: tuple[str, ...] = ()
    """Settings that have to go, one sentence each."""

    unjudged: tuple[str, ...] = ()
    """What could not be prescribed for want of a judgement, and how to get one, one sentence each."""

    def by(self, means: Means) -> tuple[Setting, ...]:
        """The settings that reach JAX by these means."""
        return tuple(setting for setting in self.settings if setting.means is means)
