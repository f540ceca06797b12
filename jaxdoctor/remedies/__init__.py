"""Small tools to import as the cure: each rule page points to one.

from jaxdoctor.remedies import SaveCadence, StepCounter, raise_precision, save_dtype, stable_dtypes, watch
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxdoctor.programs.raise_precision import raise_precision
    from jaxdoctor.remedies.save_cadence import SaveCadence
    from jaxdoctor.remedies.save_cast import save_dtype
    from jaxdoctor.remedies.stable_state import stable_dtypes
    from jaxdoctor.remedies.step_counter import StepCounter
    from jaxdoctor.remedies.watched_step import watch

__all__ = ["SaveCadence", "StepCounter", "raise_precision", "save_dtype", "stable_dtypes", "watch"]

HOMES = {
    "SaveCadence": "remedies.save_cadence",
    "StepCounter": "remedies.step_counter",
    "raise_precision": "programs.raise_precision",
    "save_dtype": "remedies.save_cast",
    "stable_dtypes": "remedies.stable_state",
    "watch": "remedies.watched_step",
}
"""The module of each remedy, imported when the remedy is first asked for: not all of them need jax."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxdoctor.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
