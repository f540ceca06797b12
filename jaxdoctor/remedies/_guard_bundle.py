"""The host's side of a guard: what came from the device becomes a bundle."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxdoctor.bundles.bundle import STEPS, Bundle, Failure, PackedModel
from jaxdoctor.bundles.write import write
from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.remedies._ring import Slot, leaves_of

CONFIG: Any = jax.config
"""Untyped, for the stubs of some releases of JAX lack these settings."""

CONTROL, KEY = "ctrl", "key"
"""Of a row: the control of the step, and the random key that it began with."""

PACKAGES = ("jax", "jaxlib", "mujoco", "mujoco-mjx", "brax", "playground", "warp-lang", "numpy")


@dataclass
class Writer:
    """Writes one bundle, whatever happens afterwards."""

    path: Path
    subject: str
    system: str
    model: Any = None
    """A `mujoco.MjModel`, or None."""

    xml: str | None = None
    """The file that the model came from, where it came from one."""

    substeps: int = 1
    stop: bool = False
    written: Bundle | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def tell(
        self, slots: tuple[Slot, ...], seen: tuple[str, ...], batch: int, values: tuple[Any, ...]
    ) -> None:
        """Is called once by the program, with the ring of the first row that is not finite.

        Args:
            slots: where each leaf stands in a row of the ring.
            seen: the leaves that were looked at, in the order in which a step computes them.
            batch: rows of the program.
            values: the number of the row, its step, the ring, and which of the leaves were not finite.

        Raises:
            FloatingPointError: `stop` was asked for.
        """
        index, step, ring, bad = (np.asarray(value) for value in values)
        with self._lock:
            if self.written is None:
                self._write(slots, seen, batch, int(index), int(step), ring, bad)
        if self.stop:
            raise FloatingPointError(f"step {int(step)} is not finite in row {int(index)}; see {self.path}")

    def _write(
        self,
        slots: tuple[Slot, ...],
        seen: tuple[str, ...],
        batch: int,
        index: int,
        step: int,
        ring: Any,
        bad: Any,
    ) -> None:
        fields = tuple(name for name, ill in zip(seen, bad, strict=True) if ill)
        count = min(step + 1, len(ring), STEPS)
        order = np.arange(step - count + 1, step + 1) % len(ring)
        leaves = leaves_of(ring[order], slots)
        control = leaves.pop(CONTROL, np.zeros((count, 0), np.float32)).reshape(count, -1)
        failure = Failure(
            step=step,
            field=fields[0],
            fields=fields,
            replay=index,
            precision="f64" if CONFIG.jax_enable_x64 else (_precision() or "default"),
            batch=batch,
            xla_flags=os.environ.get("XLA_FLAGS", ""),
        )
        try:
            model, files = _packed(self.model, self.xml)
            self.written = write(
                self.path,
                Bundle(
                    written_by="guard",
                    subject=self.subject,
                    system=self.system,
                    failure=failure,
                    first_step=step - count + 1,
                    state=leaves,
                    control=control.astype(np.promote_types(control.dtype, np.float32)),
                    substeps=self.substeps,
                    keys=(KEY,) if KEY in leaves else (),
                    model=model,
                    files=files,
                    versions=_versions(),
                    settings=_settings(),
                ),
            )
        except JaxdoctorError as error:
            self._say(f"{error}; {error.hint}")
            return
        except Exception as error:  # noqa: BLE001 (a recorder must not end what it watches)
            self._say(f"{fields[0]} is not finite after step {step} in row {index}; no bundle: {error!r}")
            return
        held = f"{self.path} holds {count} steps"
        self._say(f"{fields[0]} is not finite after step {step} in row {index}: {held}")

    @staticmethod
    def _say(words: str) -> None:
        print(f"jaxdoctor: {words}", file=sys.stderr, flush=True)  # noqa: T201 (beside a training there is no other way)


def _packed(model: Any, xml: str | None) -> tuple[PackedModel | None, dict[str, bytes]]:
    if model is None:
        return None, {}
    # Only whoever has a MuJoCo model has MuJoCo.
    from jaxdoctor.replay.model_files import pack  # noqa: PLC0415

    packed, files = pack(model, xml)
    return packed, dict(files)


def _precision() -> str | None:
    found = CONFIG.jax_default_matmul_precision
    return None if found is None else str(found)


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _settings() -> dict[str, str]:
    """What JAX is set to, by its variables."""
    chosen = {"JAX_DEFAULT_MATMUL_PRECISION": _precision()}
    if CONFIG.jax_enable_x64:
        chosen["JAX_ENABLE_X64"] = "1"
    return {name: value for name, value in chosen.items() if value}
