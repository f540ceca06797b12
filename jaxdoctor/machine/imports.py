"""Whether MuJoCo and MJX can be imported in the environment that is examined, tried in a worker."""

from __future__ import annotations

import csv
import importlib
import importlib.metadata
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.errors import WorkerError
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.machine.xla_flags import XLA_FLAGS
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import WorkerTimeoutError, run

MODULES = {"mujoco": "mujoco", "mujoco-mjx": "mujoco.mjx"}
"""What to import of each distribution, in an order in which each needs those before it."""

SPLIT = ("mujoco", "mujoco-core", "mujoco-studio")
"""Distributions that write into one folder, where the removal of one may take files of another."""

WARP = "warp"

HINGE = "<mujoco><worldbody><body><joint type='hinge'/><geom size='1'/></body></worldbody></mujoco>"
"""The smallest model that moves: MJX looks up most of MuJoCo's names only when it is given a model."""

PINNED = re.compile(r"warp-lang\s*\(?==\s*([^\s;,)]+)")


@dataclass(frozen=True, kw_only=True)
class Imports:
    """What importing showed."""

    unimportable: Mapping[str, str] = field(default_factory=dict)
    """By module: what it raised. Behind the first that fails nothing was tried."""

    missing_files: Mapping[str, int] = field(default_factory=dict)
    """By distribution, of those whose installed files are not all there."""

    warp_pinned: str | None = None
    skipped: tuple[Skipped, ...] = ()


IMPORT: Task[[bool], Imports] = Task("jaxdoctor.machine.imports:try_imports")


def tried_imports(environ: Mapping[str, str], deadline: float) -> Imports:
    """Imports MuJoCo and MJX in a worker, without what JAX could die of in the settings.

    Args:
        environ: variables, whose JAX_* and XLA_FLAGS are left out.
        deadline: of `time.monotonic()`.
    """
    plain: dict[str, str | None] = {name: None for name in environ if name.startswith("JAX_")}
    plain |= {XLA_FLAGS: None, "JAX_PLATFORMS": "cpu"}

    def ask(*, without_warp: bool) -> Imports:
        return run(IMPORT(without_warp), environment=plain, deadline=deadline, subject="importing MuJoCo")

    try:
        found = ask(without_warp=False)
        if "mujoco.mjx" in found.unimportable and not ask(without_warp=True).unimportable:
            said = found.unimportable["mujoco.mjx"]
            return Imports(unimportable={WARP: said}, warp_pinned=found.warp_pinned)
    except WorkerTimeoutError as error:
        return Imports(skipped=(Skipped(subject="whether MuJoCo can be imported", reason=f"{error}"),))
    except WorkerError as error:
        return Imports(unimportable={"mujoco": f"{error}; {error.hint}"})
    return found


def try_imports(without_warp: bool, *, progress: Progress = SILENT) -> Imports:
    """The worker's side.

    Args:
        without_warp: as if warp-lang were not installed.
        progress: is not used.
    """
    del progress
    if without_warp:
        modules: dict[str, Any] = sys.modules
        modules[WARP] = None  # how Python marks what cannot be imported
    unimportable: dict[str, str] = {}
    for distribution, module in MODULES.items():
        if unimportable or not _is_installed(distribution):
            continue
        try:
            importlib.import_module(module)
            _TRIALS[module]()
        except Exception as error:  # noqa: BLE001 (whatever a damaged package raises)
            unimportable[module] = f"{type(error).__name__}: {error}".partition("\n")[0]
    return Imports(
        unimportable=unimportable, missing_files=_missing() if unimportable else {}, warp_pinned=_pinned()
    )


def _compile() -> Any:
    """A folder that lost its `__init__.py` can be imported all the same, and is empty."""
    import mujoco

    return mujoco.MjModel.from_xml_string(HINGE)


def _hand_over() -> None:
    from jaxdoctor.models.mjx_model import mjx_pair  # noqa: PLC0415 (brings mujoco in)

    mjx_pair(_compile())


_TRIALS: Mapping[str, Callable[[], Any]] = {"mujoco": _compile, "mujoco.mjx": _hand_over}


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _missing() -> dict[str, int]:
    gone = {name: _gone_from(name) for name in SPLIT if _is_installed(name)}
    return {name: count for name, count in gone.items() if count}


def _gone_from(distribution: str) -> int:
    """How many of the files that the installer noted are not there."""
    found = importlib.metadata.distribution(distribution)
    # Not `found.files`: from Python 3.12 on it leaves out what is missing.
    noted = csv.reader((found.read_text("RECORD") or "").splitlines())
    return sum(not Path(str(found.locate_file(row[0]))).exists() for row in noted if row)


def _pinned() -> str | None:
    try:
        wanted = importlib.metadata.requires("mujoco-mjx") or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [match[1] for line in wanted if (match := PINNED.match(line))]
    return found[0] if found else None
