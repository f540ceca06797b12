"""XLA_FLAGS, read as XLA reads it.

https://github.com/openxla/xla/blob/main/xla/parse_flags_from_env.cc: the value is a file's name unless it
begins with a dash; a value may be quoted; and at the first word without a dash reading stops, silently.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

XLA_FLAGS = "XLA_FLAGS"

SPACE = " \t\r\n"

ARGUMENT = re.compile(
    r"""
    (?P<name>-[-\w]*)                            # --xla_flag
    (?: = " (?P<double>(?:\\.|[^"\\])*) (?:"|$)  # ="value \" value"
      | = ' (?P<single>[^']*) (?:'|$)            # ='value'
      | (?P<bare>[^\ \t\r\n]*)                   # =value, or nothing
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)


@dataclass(frozen=True)
class Argument:
    """One flag."""

    text: str
    """As XLA's parser sees it, without quotes: "--xla_gpu_ftz=true"."""

    written: str
    """With its quotes, as the user wrote it."""

    @property
    def name(self) -> str:
        """Without dashes and value."""
        return self.text.partition("=")[0].lstrip("-")

    @property
    def value(self) -> str:
        """XLA takes a boolean flag without a value as true."""
        _, equals, value = self.text.partition("=")
        return value if equals else "true"


@dataclass(frozen=True, kw_only=True)
class XlaFlags:
    """What XLA makes of the variable."""

    arguments: tuple[Argument, ...] = ()
    unread: str = ""
    """What stands behind the first word without a dash. XLA does not look at it, and does not say so."""

    file: str | None = None
    """The file that they stand in."""

    trouble: str | None = None
    """Why XLA ends the process before it looks at any flag."""

    @property
    def values(self) -> Mapping[str, str]:
        """By name; of a repeated flag the last one counts."""
        return {argument.name: argument.value for argument in self.arguments}

    def without(self, texts: Collection[str]) -> str:
        """The variable with those arguments left out."""
        return " ".join(argument.written for argument in self.arguments if argument.text not in texts)


def read_xla_flags(variable: str | None) -> XlaFlags:
    """The flags in the value of XLA_FLAGS, or in the file that it names."""
    if not variable:
        return XlaFlags()
    if variable.lstrip(SPACE).startswith("-"):
        return _parsed(variable)
    try:
        text = Path(variable).read_text(errors="replace")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return XlaFlags(file=variable, trouble=f"XLA takes it for a file, and that cannot be read: {reason}")
    return _parsed(text, file=variable)


def _parsed(text: str, file: str | None = None) -> XlaFlags:
    arguments = []
    rest = text.lstrip(SPACE)
    while rest.startswith("-"):
        found = ARGUMENT.match(rest)
        assert found is not None
        arguments.append(Argument(_unquoted(found), found[0]))
        rest = rest[found.end() :].lstrip(SPACE)
    return XlaFlags(arguments=tuple(arguments), unread=rest.rstrip(SPACE), file=file)


def _unquoted(found: re.Match[str]) -> str:
    if found["double"] is not None:
        value = re.sub(r"\\(.)", r"\1", found["double"], flags=re.DOTALL)
        return f"{found['name']}={value}"
    if found["single"] is not None:
        return f"{found['name']}={found['single']}"
    return f"{found['name']}{found['bare']}"
