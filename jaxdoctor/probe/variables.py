"""The environment variables of a worker that replays."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jaxdoctor.machine.devices import PRECISION_VARIABLE
from jaxdoctor.machine.judged import Machine
from jaxdoctor.workers.cache import cache_variables

QUICKER = "--xla_llvm_disable_expensive_passes=true --xla_backend_optimization_level=1"
"""Takes XLA:CPU less time to compile a step, which then runs as fast."""

WITHOUT_FUSION = "--xla_disable_hlo_passes=fusion"
"""XLA:CPU's fusion recomputes a deep kinematic chain exponentially often."""


def is_accelerator(machine: Machine) -> bool:
    """Whether JAX computes on anything but a CPU here."""
    return machine.environment.device.platform not in ("cpu", "unknown")


def users_flags(machine: Machine) -> str:
    """XLA_FLAGS as the user has set them."""
    return {**os.environ, **machine.variables}.get("XLA_FLAGS") or ""


def replay_variables(
    machine: Machine, changes: Mapping[str, str | None], *, fuses: bool, cache: bool
) -> dict[str, str | None]:
    """What a worker's environment has besides ours; None takes a variable out.

    Args:
        machine: where it runs.
        changes: what is particular to this worker, and overrides the rest.
        fuses: whether XLA:CPU may fuse.
        cache: whether compiled programs are kept.
    """
    ours = [] if is_accelerator(machine) else [QUICKER, *([] if fuses else [WITHOUT_FUSION])]
    return {
        **machine.variables,
        **cache_variables(wanted=cache),
        "XLA_FLAGS": " ".join([users_flags(machine), *ours]).strip() or None,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_ENABLE_X64": "0",
        PRECISION_VARIABLE: None,
        "JAX_DEBUG_NANS": "0",
        "JAX_DEBUG_INFS": "0",
        "JAX_TRACEBACK_FILTERING": "off",
        **changes,
    }
