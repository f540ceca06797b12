"""Which Python runs what touches JAX and MuJoCo: our own, or that in which the user trains."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.workers.task import Task

VARIABLE = "JAXDOCTOR_PYTHON"
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")

OUR_OWN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", VARIABLE)
"""Variables that say where our own packages are; another Python must not see them."""

OLDEST = (3, 11)
"""`python -P`, with which every worker is started, is new in 3.11."""

CHECK_SECONDS = 30.0
CHECK = """
import sys
print('%d %d' % sys.version_info[:2])
import importlib.metadata, importlib.util
print(importlib.util.find_spec('jax') is not None)
try:
    print(importlib.metadata.version('jaxlib'))
except importlib.metadata.PackageNotFoundError:
    pass
"""

SCAN_ANYWAY = "checkpoints can be scanned without it"

_chosen: str | None = None
_chosen_jaxlib: str | None = None


def choose(python: str | None) -> None:
    """Has every later worker that touches JAX run in this Python; None: in that of JAXDOCTOR_PYTHON.

    Args:
        python: an interpreter, or the folder of a virtual environment.

    Raises:
        UsageError: it cannot be started, is too old, or has no jax.
    """
    global _chosen, _chosen_jaxlib
    named = python or os.environ.get(VARIABLE)
    _chosen, _chosen_jaxlib = (None, None) if not named else _checked(named)


def chosen() -> str:
    """The Python that is examined."""
    return _chosen or sys.executable


def jaxlib() -> str | None:
    """The version of jaxlib that is examined."""
    if _chosen is not None:
        return _chosen_jaxlib
    try:
        return metadata.version("jaxlib")
    except metadata.PackageNotFoundError:
        return None


def is_another() -> bool:
    """Whether it is not the one that runs jaxdoctor."""
    return _chosen is not None


def command(task: Task[Any, Any]) -> list[str]:
    """The command line of a worker."""
    python = sys.executable if task.ours else chosen()
    folder = [str(Path.cwd())] if task.users_code else []
    return [python, "-P", str(BOOTSTRAP), task.function, *folder]


def variables_of(environ: Mapping[str, str], *, ours: bool) -> dict[str, str]:
    """The environment variables of a worker: those of this process, less what only fits our own Python."""
    if ours or not is_another():
        return dict(environ)
    return {name: value for name, value in environ.items() if name not in OUR_OWN}


def other_environment(environ: Mapping[str, str]) -> str | None:
    """The virtual environment that is active in the shell, if it is not the one that is examined."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = environ.get(name)
        if folder and os.path.realpath(folder) != os.path.realpath(_prefix(chosen())):
            return folder
    return None


def examined(environ: Mapping[str, str]) -> str | None:
    """Said where the user might mean another environment than the one that is examined."""
    active = other_environment(environ)
    if active is not None:
        return f"examined {chosen()}; for the active environment add --python {active}"
    return f"examined {chosen()}, as asked" if is_another() else None


def _prefix(python: str) -> str:
    return sys.prefix if python == sys.executable else str(Path(python).parent.parent)


def _checked(named: str) -> tuple[str, str | None]:
    path = Path(named).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    if not path.exists():
        raise UsageError(
            f"there is no Python at {named}", hint=f"name an interpreter: venv/bin/python; {SCAN_ANYWAY}"
        )
    # Not resolved: a virtual environment's python is a link, and the link's folder is what makes it one.
    path = Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve follows the link)
    try:
        done = subprocess.run(  # noqa: S603 (an interpreter that the user named)
            [str(path), "-c", CHECK],
            env=_clean(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else f"it did not answer in {CHECK_SECONDS:.0f} s"
        )
        raise UsageError(
            f"{named} cannot be run as a Python: {reason}", hint=f"name an interpreter; {SCAN_ANYWAY}"
        ) from error
    return _able(named, str(path), done.stdout.split())


def _able(named: str, path: str, answer: list[str]) -> tuple[str, str | None]:
    if len(answer) < 2 or not all(part.isdigit() for part in answer[:2]):  # noqa: PLR2004 (major and minor)
        raise UsageError(f"{named} is no Python", hint=f"name an interpreter: venv/bin/python; {SCAN_ANYWAY}")
    version = (int(answer[0]), int(answer[1]))
    if version < OLDEST:
        raise UsageError(
            f"{named} is Python {version[0]}.{version[1]}, older than {OLDEST[0]}.{OLDEST[1]}",
            hint=f"JAX itself needs a newer one for what is examined here; {SCAN_ANYWAY}",
        )
    if answer[2:3] != ["True"]:
        raise UsageError(
            f"{named} has no jax",
            hint=f"name the Python of the environment in which you train; {SCAN_ANYWAY}",
        )
    return path, next(iter(answer[3:]), None)


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in OUR_OWN}
