"""Small tools to import as the cure: each rule page points to one.

from jaxdoctor.remedies import SaveCadence, StepCounter, guard, raise_precision
from jaxdoctor.remedies import save_dtype, stable_dtypes, watch

One file a remedy: `StepCounter` is in `step_counter.py`, and the function `watch` in `watch_.py`, whose name
ends in an underscore because a module `watch` would stand in the place of the function.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxdoctor.remedies.guard_ import guard as guard
    from jaxdoctor.remedies.raise_precision_ import raise_precision as raise_precision
    from jaxdoctor.remedies.save_cadence import SaveCadence as SaveCadence
    from jaxdoctor.remedies.save_dtype_ import save_dtype as save_dtype
    from jaxdoctor.remedies.stable_dtypes_ import stable_dtypes as stable_dtypes
    from jaxdoctor.remedies.step_counter import StepCounter as StepCounter
    from jaxdoctor.remedies.watch_ import watch as watch


def _homes() -> dict[str, str]:
    """The module of each remedy, imported when the remedy is first asked for: not all of them need jax."""
    modules = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return {_name(module): module for module in modules}


def _name(module: str) -> str:
    return module[:-1] if module.endswith("_") else "".join(word.title() for word in module.split("_"))


__all__ = sorted(_homes())  # noqa: PLE0605 (a file is a remedy; no list is kept)


def __getattr__(name: str) -> Any:
    home = _homes().get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
