"""Versions of installed packages, compared without importing any."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping

DISTRIBUTIONS = (
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "mujoco",
    "mujoco-mjx",
    "brax",
    "playground",
    "mujoco-warp",
    "warp-lang",
    "optax",
    "orbax-checkpoint",
    "flax",
    "equinox",
    "numpy",
)
"""What a report names beside Python."""


def installed_versions() -> Mapping[str, str | None]:
    """The version of Python and of every distribution; None: not installed."""
    return {"python": platform.python_version()} | {name: _version(name) for name in DISTRIBUTIONS}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
