"""Takes plain arguments as they are, for which Typer would first load Pydantic.

`jaxdoctor rule` takes 1.7 times as long where Typer 0.29 converts its arguments: `benchmarks/startup.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.core

INTEGER = re.compile(r"-?\d{1,18}")
NUMBER = re.compile(r"-?\d{1,18}(\.\d+)?(e[+-]?\d{1,2})?")


PYTHON_TYPE = re.compile(r" <[\w\[\]]+>$")
"""What Typer writes behind a name that says already what it is."""


class NotPlainError(Exception):
    """An argument that Typer is to judge, and to refuse in its own words."""


class PlainCommand(typer.core.TyperCommand):
    """A command whose texts, paths and numbers are converted here.

    Typer converts with Pydantic from 0.26 on, and loading it takes longer than a small scan. Whatever is not
    plainly right is still handed to Typer, and so is everything in a version that converts in another way.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, `--help` among them."""
        return _converted_here(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments, the command's own options, and then those that it shares, by subject."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                argument = parameter.param_type_name == "argument"
                title = parameter.rich_help_panel or ("Arguments" if argument else "Options")
                groups.setdefault(title, []).append((PYTHON_TYPE.sub("", record[0]), record[1]))
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


class PlainGroup(typer.core.TyperGroup):
    """The same for what stands before the name of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, `--help` among them."""
        return _converted_here(super().get_params(ctx))


def _converted_here(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        typers = getattr(parameter, "get_runtime_param", None)
        if typers is not None and not isinstance(typers, _Plain):
            parameter.get_runtime_param = _Plain(parameter.type_descriptor, typers)
    return parameters


@dataclass(frozen=True)
class _Plain:
    """Converts the values of one parameter as Typer does."""

    described: Any
    typers: Callable[[], Any]
    """Gives Typer's own conversion, which brings Pydantic in."""

    def __call__(self) -> _Plain:
        """Stands in for the function that gives Typer's conversion."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value in the type of the parameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        wanted = self.described.annotation
        try:
            if isinstance(value, list | tuple):
                return [_converted(one, _of_one(wanted), self.described.parameter_info) for one in value]
            return _converted(value, wanted, self.described.parameter_info)
        except NotPlainError:
            return self.typers().coerce(value, param=param, ctx=ctx)


def _of_one(wanted: Any) -> Any:
    """What each value of a list is to be."""
    for kind in (str, int, float, Path):
        if wanted == list[kind]:  # type: ignore[valid-type]
            return kind
    raise NotPlainError


def _converted(value: Any, wanted: Any, limits: Any) -> Any:
    """One word of the command line, or a default, as what is wanted."""
    if limits.parser is not None or not isinstance(value, str | Path):
        raise NotPlainError
    if wanted is str and isinstance(value, str):
        return value
    if wanted is Path and _is_plain(Path(value), limits):
        return Path(value)
    if wanted is int and INTEGER.fullmatch(str(value)):
        return _within(int(str(value)), limits)
    if wanted is float and NUMBER.fullmatch(str(value)):
        return _within(float(str(value)), limits)
    raise NotPlainError


def _is_plain(path: Path, limits: Any) -> bool:
    """Whether Typer would check nothing about the path, or find that it can be read."""
    asked = limits.exists or limits.resolve_path or limits.writable or limits.path_type is not None
    whatever_it_is = limits.file_okay and limits.dir_okay
    return not asked and whatever_it_is and (not path.exists() or os.access(path, os.R_OK))


def _within(number: float, limits: Any) -> float:
    low, high = limits.min, limits.max
    if limits.clamp or (low is not None and number < low) or (high is not None and number > high):
        raise NotPlainError
    return number
