"""The line of an MJCF file on which an element stands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.parsers import expat

INCLUDE_DEPTH = 20
"""Files that include one another deeper than this do so in a circle."""


def element_line(
    path: Path, element: str, attributes: Mapping[str, str] | None = None
) -> tuple[Path, int] | None:
    """The file and the line, counted from 1, of the last such element in an MJCF file and what it includes.

    MuJoCo lets a later `<option>` win over an earlier one, hence the last.

    Args:
        path: the MJCF file.
        element: the tag: "option".
        attributes: values that it must have, compared without regard to capitals.
    """
    wanted = {name: value.lower() for name, value in (attributes or {}).items()}
    found = None
    for tag, has, file, line in _elements(path, path.parent, INCLUDE_DEPTH):
        if tag == element and all(has.get(name, "").lower() == value for name, value in wanted.items()):
            found = file, line
    return found


def _elements(path: Path, root: Path, depth: int) -> Iterator[tuple[str, dict[str, str], Path, int]]:
    """Every element's tag, attributes, file and line, in the order in which MuJoCo reads them."""
    for tag, attributes, line in _parsed(path):
        yield tag, attributes, path, line
        if tag == "include" and depth:
            yield from _elements(root / attributes.get("file", ""), root, depth - 1)


def _parsed(path: Path) -> list[tuple[str, dict[str, str], int]]:
    parser = expat.ParserCreate()
    found: list[tuple[str, dict[str, str], int]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        found.append((tag, attributes, parser.CurrentLineNumber))

    parser.StartElementHandler = start
    # MuJoCo's own parser forgives what this one does not, so what was read until then has to do.
    with contextlib.suppress(expat.ExpatError, OSError):
        parser.Parse(path.read_bytes(), True)
    return found
