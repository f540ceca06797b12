"""Versions of installed packages, compared without importing any."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import time
from collections.abc import Mapping

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.workers.interpreter import is_another
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run

NAME = re.compile(r"[\w.-]+")
"""The name at the beginning of a requirement, as PEP 508 has it."""

DEVELOPERS = "extra == 'dev'"
"""Ends a requirement that only our own tests have."""

DISTRIBUTIONS = (
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "mujoco",
    "mujoco-core",
    "mujoco-studio",
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


def versions_for_a_bug_report() -> Mapping[str, str | None]:
    """The same with everything else that jaxdoctor itself requires, its extras included."""
    wanted = (line for line in importlib.metadata.requires("jaxdoctor") or () if DEVELOPERS not in line)
    names = (NAME.match(line) for line in wanted)
    required = {name[0]: _version(name[0]) for name in names if name and name[0] != "jaxdoctor"}
    return {**installed_versions(), **required}


INSTALLED: Task[[], Mapping[str, str | None]] = Task("jaxdoctor.machine.installed:answer_versions")

ANSWER_SECONDS = 30.0


def answer_versions(*, progress: Progress = SILENT) -> Mapping[str, str | None]:
    """`installed_versions` as a worker's task."""
    del progress
    return dict(installed_versions())


def versions_examined(deadline: float | None = None) -> Mapping[str, str | None]:
    """What `installed_versions` says in the environment that is examined, whichever Python that is.

    Args:
        deadline: of `time.monotonic()`; by default half a minute from now.
    """
    if not is_another():
        return installed_versions()
    latest = time.monotonic() + ANSWER_SECONDS
    try:
        return run(INSTALLED(), deadline=min(deadline or latest, latest), subject="asking for versions")
    except JaxdoctorError:
        return dict.fromkeys(("python", *DISTRIBUTIONS))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
