"""An update function to check, as it is asked for."""

from __future__ import annotations

from jaxdoctor.config.settings import UpdateEntry
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.updates.check import X64_SETTINGS, Wish


def update_wish(entry: UpdateEntry, *, seconds: float) -> Wish:
    """What the entry asks.

    Raises:
        UnknownNameError: there is no such setting of x64.
    """
    if entry.x64 not in X64_SETTINGS:
        raise UnknownNameError("--x64 setting", entry.x64, X64_SETTINGS)
    return Wish(
        target=entry.target,
        params=entry.params,
        params_dtypes=tuple(word.strip() for word in entry.params_dtype if word.strip()),
        x64=X64_SETTINGS[entry.x64],
        calls_per_second=entry.calls_per_second,
        time_limit=seconds,
    )
