"""A function of the user's, written "package.module:fn --args package.module:make --check ...:is_bad"."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.named import NAME
from jaxdoctor.rollouts.source import Source

ARGS, CHECK = " --args ", " --check "

SCENARIO = "scenario:"


@dataclass(frozen=True, kw_only=True)
class Named:
    """A function, what makes its arguments, and what judges its output, each by its name."""

    function: str
    args: str
    check: str | None = None


def is_function(argument: str) -> bool:
    """Whether it names a function, in a module or in a file."""
    return NAME.fullmatch(argument) is not None and not argument.startswith(SCENARIO)


def written(named: Named) -> str:
    """The argument of `probe` that this source takes."""
    check = "" if named.check is None else f"{CHECK}{named.check}"
    return f"{named.function}{ARGS}{named.args}{check}"


def _accepts(argument: str) -> bool:
    return ARGS in argument


def _load(argument: str) -> Named:
    function, _, rest = argument.partition(ARGS)
    args, _, check = rest.partition(CHECK)
    return Named(function=function, args=args, check=check or None)


def _check(argument: str) -> None:
    named = _load(argument)
    for name in (named.function, named.args, named.check):
        if name is None:
            continue
        if not is_function(name):
            raise UsageError(
                f"{name!r} names no function", hint="write package.module:function or file.py:function"
            )
        file = name.rpartition(":")[0]
        if file.endswith(".py") and not Path(file).is_file():
            raise UsageError(f"there is no file {file}", hint="write the path as seen from this folder")


SOURCE = Source(accepts=_accepts, check=_check, system="function", users_code=True, load=_load)
