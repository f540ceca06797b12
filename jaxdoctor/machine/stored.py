"""What this machine answered last, so that a replay need not ask its devices and packages again.

An answer holds for one jaxlib, one set of devices and drivers, and one setting of the variables that JAX
reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxdoctor import __version__
from jaxdoctor.machine.cores import usable_cores
from jaxdoctor.machine.imports import Imports
from jaxdoctor.machine.installed import installed_versions
from jaxdoctor.machine.measured import Survey
from jaxdoctor.machine.nvidia import NvidiaSmi
from jaxdoctor.workers.cache import cache_folder
from jaxdoctor.workers.interpreter import is_another
from jaxdoctor.workers.messages import NotPlainError, receive, send

READ = ("JAX_", "XLA_", "NVIDIA_TF32_OVERRIDE", "CUDA_", "ROCR_", "HIP_", "TPU_", "PJRT_")
"""How variables begin that may change what a product gets, or where."""


class StoredSurveys:
    """The answers for this machine as it is now, in one file of the user's cache folder."""

    def __init__(self, answer: NvidiaSmi, environ: Mapping[str, str], *, measured: bool) -> None:
        key = {
            "versions": {**installed_versions(), "jaxdoctor": __version__},
            "gpus": [repr(gpu) for gpu in answer.gpus],
            "machine": [platform.system(), platform.machine(), _processor(), usable_cores()],
            "variables": {name: environ[name] for name in sorted(environ) if name.startswith(READ)},
            "measured": measured,
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
        self._path = cache_folder() / "machine" / digest
        # The versions of another Python are only known by asking it.
        self._holds = not is_another()

    def load(self) -> tuple[Sequence[Survey], Imports] | None:
        """The surveys of an earlier command, and that MuJoCo could be imported.

        None where there are none, or none that can be read.
        """
        if not self._holds:
            return None
        try:
            with self._path.open("rb") as file:
                surveys, imports = receive(file)
        except (
            OSError,
            EOFError,
            pickle.UnpicklingError,
            NotPlainError,
            AttributeError,
            ImportError,
            TypeError,
            ValueError,
        ):
            return None
        whole = isinstance(surveys, tuple) and all(isinstance(survey, Survey) for survey in surveys)
        return (surveys, imports) if whole and surveys and isinstance(imports, Imports) else None

    def save(self, surveys: Sequence[Survey], imports: Imports) -> None:
        """Keeps them; where no file can be written, or a package is damaged, nothing is kept."""
        if not self._holds or imports.unimportable or imports.skipped:
            return
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                send((tuple(surveys), imports), file)
            unfinished.replace(self._path)


def _processor() -> str:
    """The processor's name; Linux tells it only in /proc/cpuinfo."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
