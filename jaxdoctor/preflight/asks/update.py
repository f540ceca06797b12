"""An update function to check, as it is asked for."""

from __future__ import annotations

from jaxdoctor.config.settings import UpdateEntry
from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.updates.check import X64_SETTINGS, Wish
from jaxdoctor.updates.script_plan import ScriptPlan


def update_wish(entry: UpdateEntry, *, seconds: float) -> Wish:
    """What the entry asks.

    Raises:
        UsageError: there is no such setting of x64, or neither a script nor a target.
    """
    if entry.run is None and (entry.call or entry.calls):
        raise UsageError("--call and --calls are for a script", hint="give --run train.py")
    if entry.x64 not in X64_SETTINGS:
        raise UnknownNameError("--x64 setting", entry.x64, X64_SETTINGS)
    return Wish(
        script=_script(entry),
        target="" if entry.run is not None else entry.target,
        params=entry.params,
        params_dtypes=tuple(word.strip() for word in entry.params_dtype if word.strip()),
        x64=X64_SETTINGS[entry.x64],
        calls_per_second=entry.calls_per_second,
        time_limit=seconds,
    )


def _script(entry: UpdateEntry) -> ScriptPlan | None:
    """The script that is to be run; None: a target is meant."""
    if entry.run is None:
        return None
    words = ([entry.target] if entry.target else []) + list(entry.arguments)
    dash, _, module = entry.run.partition(" ")
    if dash != "-m":
        return _plan(entry, entry.run, words, module=False)
    if module.strip():
        return _plan(entry, module.strip(), words, module=True)
    if not words:
        raise UsageError("--run -m names no module", hint="write --run -m package.train")
    return _plan(entry, words[0], words[1:], module=True)


def _plan(entry: UpdateEntry, script: str, arguments: list[str], *, module: bool) -> ScriptPlan:
    return ScriptPlan(
        script=script, arguments=tuple(arguments), module=module, call=entry.call, calls=entry.calls
    )
