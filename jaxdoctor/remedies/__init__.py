"""Small tools to import as the cure: each rule page points to one.

from jaxdoctor.remedies import SaveCadence, StepCounter, save_dtype, stable_dtypes, watch
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxdoctor.remedies.save_cadence import SaveCadence
    from jaxdoctor.remedies.save_cast import save_dtype
    from jaxdoctor.remedies.stable_state import stable_dtypes
    from jaxdoctor.remedies.step_counter import StepCounter
    from jaxdoctor.remedies.watched_step import watch

__all__ = ["SaveCadence", "StepCounter", "save_dtype", "stable_dtypes", "watch"]

HOMES = {
    "SaveCadence": "save_cadence",
    "StepCounter": "step_counter",
    "save_dtype": "save_cast",
    "stable_dtypes": "stable_state",
    "watch": "watched_step",
}
"""The module of each remedy, imported when the remedy is first asked for: not all of them need jax."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
