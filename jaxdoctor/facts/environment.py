"""The machine, its software and the settings that change numerics, as the rules see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """What multiplies."""

    name: str
    """JAX's `device_kind`, such as "NVIDIA H200", or "cpu"."""

    platform: str
    """"cpu", "gpu" or "tpu"."""

    card: str | None = None
    """The name in `cards/`, when it is known there."""

    compute_capability: str | None = None
    """NVIDIA's, such as "8.9"."""

    market: str | None = None
    """A label only: GeForce, workstation, datacenter, embedded, TPU or CPU. It decides nothing."""

    memory_bytes: int | None = None
    fp64_ratio: float | None = None
    """The rate of float64 as a share of that of float32: 1/64 on most RTX cards."""

    tf32: bool | None = None
    """Whether its matrix units have TF32 (NVIDIA from compute capability 8.0 on)."""

    bf16: bool | None = None
    """Whether its matrix units multiply bfloat16; None: it is not known, or it is no card."""

    ecc: bool | None = None
    driver: str | None = None
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One machine with one JAX as configured for one process."""

    accelerator: Accelerator
    """The one that is judged."""

    here: Accelerator | None = None
    """The one of this machine, where another is judged."""

    idle_gpus: tuple[str, ...] = ()
    """Cards that nvidia-smi lists while JAX computes on the CPU."""

    cpu_cores: int
    """That may really be used, after affinity and control groups."""

    cpu_threads: int | None = None
    """In the pool of XLA:CPU, as a process of the user's would get it."""

    platform: str
    """The operating system and architecture: "Linux-x86_64"."""

    versions: Mapping[str, str | None]
    """By distribution name (python, jax, jaxlib, mujoco, mujoco-mjx, brax, ...); None: not installed."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Every JAX_* variable or changed JAX option, NVIDIA_TF32_OVERRIDE, as set."""

    refused_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that this JAX raises on, with what it says."""

    xla_flags: Mapping[str, str] = field(default_factory=dict)
    """The flags that XLA takes: name without dashes to value ("true" when none is written)."""

    unknown_xla_flags: tuple[str, ...] = ()
    """Flags that end the process when JAX starts, with their value and without dashes; found in a child."""

    refused_xla_flags: Mapping[str, str] = field(default_factory=dict)
    """Flags that exist and end the process all the same, with why; "XLA_FLAGS" stands for all of them."""

    unread_xla_flags: str = ""
    """What XLA does not look at, because a word without a dash stands before it."""

    unread_settings: Mapping[str, str] = field(default_factory=dict)
    """JAX_* variables that this JAX does not know, with the nearest that it does."""

    x64: bool = False
    examined: str | None = None
    """Which environment's packages these are, where it is not plain; and how to have another examined."""

    assumed: str | None = None
    """Why another machine than this one is judged: "no accelerator here; judging for any card with TF32"."""

    elsewhere: bool = False
    """Whether a machine was named that is not this one, so that what is true of this one alone is no news."""

    @property
    def device(self) -> Accelerator:
        """The one that JAX computes on here, whichever is judged."""
        return self.here or self.accelerator


@dataclass(frozen=True, kw_only=True)
class Software:
    """The packages of the environment that is examined, and whether they fit one another."""

    versions: Mapping[str, str | None]
    """By distribution name; None: not installed."""

    unimportable: Mapping[str, str] = field(default_factory=dict)
    """Of "mujoco", "mujoco.mjx" and "warp": what importing it raised; found in a child."""

    missing_files: Mapping[str, int] = field(default_factory=dict)
    """By distribution name: how many of the files that its installer wrote are gone."""

    warp_pinned: str | None = None
    """The version of warp-lang that the installed mujoco-mjx names in its extra `warp`."""
