"""A configuration file as values that know their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxdoctor.errors import ConfigError

YAML_NAMES = ("jaxdoctor.yaml", "jaxdoctor.yml")
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "jaxdoctor")

YAML_WORDS = {True: "on", False: "off"}
"""YAML 1.1 reads these words as booleans; where words are expected they are words again."""


@dataclass(frozen=True)
class Located:
    """A value of the file. Mappings and lists hold located values again."""

    value: Any
    line: int | None
    key_lines: Mapping[str, int | None]
    """Of a mapping: where each of its keys stands."""

    @property
    def plain(self) -> Any:
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: item.plain for key, item in self.value.items()}
        if isinstance(self.value, list):
            return [item.plain for item in self.value]
        return self.value


def find(folder: Path) -> Path | None:
    """The nearest configuration from that folder upwards, as far as the user's home or the root.

    Raises:
        ConfigError: a folder on the way cannot be searched, so that nobody knows.
    """
    try:
        return next((path for place in (folder, *folder.parents) for path in _in(place)), None)
    except PermissionError as error:
        raise ConfigError(
            f"{error.filename} cannot be looked for: permission denied",
            hint="let this user search the folders above it (chmod a+x), or name a file with --config",
        ) from error


def others(found: Path) -> list[Path]:
    """The configurations in the same folder that do not count beside the one that was found."""
    return [path for path in _in(found.parent) if path != found]


def _in(folder: Path) -> Iterator[Path]:
    """The configurations in a folder. The first one counts."""
    for name in YAML_NAMES:
        if (folder / name).is_file():
            yield folder / name
    pyproject = folder / PYPROJECT
    if pyproject.is_file() and _has_table(pyproject):
        yield pyproject


def _has_table(path: Path) -> bool:
    return re.search(r"^\s*\[+\s*tool\s*\.\s*jaxdoctor\b", _text(path), flags=re.MULTILINE) is not None


def parse(path: Path) -> Located:
    """What the file says.

    Raises:
        ConfigError: it cannot be read, or is neither YAML nor TOML.
    """
    return _from_toml(path) if path.suffix == ".toml" else _from_yaml(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(
            f"{path} cannot be read: {reason}",
            hint="name another file with --config, or write one with `jaxdoctor preflight --init`",
        ) from error


def _from_yaml(path: Path) -> Located:
    import yaml

    loader = yaml.SafeLoader(_text(path))
    try:
        node = loader.get_single_node()
        return Located({}, 1, {}) if node is None else _Yaml(path, loader).located(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise ConfigError(
            f"{where} is no YAML: {problem}", hint="look at the line and the one before"
        ) from error
    finally:
        loader.dispose()


class _Yaml:
    """Nodes of PyYAML into located values."""

    def __init__(self, path: Path, loader: Any) -> None:
        self.path = path
        self.loader = loader

    def located(self, node: Any) -> Located:
        line = node.start_mark.line + 1
        if node.id == "mapping":
            return self._mapping(node, line)
        if node.id == "sequence":
            return Located([self.located(item) for item in node.value], line, {})
        return Located(self.loader.construct_object(node), line, {})

    def _mapping(self, node: Any, line: int) -> Located:
        values: dict[str, Located] = {}
        lines: dict[str, int | None] = {}
        for key_node, value_node in node.value:
            key = str(self.loader.construct_object(key_node, deep=True))
            at = key_node.start_mark.line + 1
            if key in values:
                raise ConfigError(
                    f"{self.path}:{at}: {key!r} stands there twice, first in line {lines[key]}",
                    hint="keep one of the two",
                )
            values[key], lines[key] = self.located(value_node), at
        return Located(values, line, lines)


def _from_toml(path: Path) -> Located:
    import tomlkit
    from tomlkit.exceptions import ParseError, TOMLKitError

    try:
        document = tomlkit.parse(_text(path))
    except (ParseError, TOMLKitError) as error:
        line = getattr(error, "line", None)
        where = f"{path}:{line}" if line else str(path)
        raise ConfigError(
            f"{where} is no TOML: {error}", hint="look at the line and the one before"
        ) from error
    table: Any = document
    for name in TABLE:
        table = table.get(name, {})
    return _Toml(document).located(table)


class _Toml:
    """TOML into located values.

    tomlkit writes a document as it was read, with comments, and says no lines. So each item gets a comment
    that is a mark, and its line is that of the mark in the text that is written.
    """

    def __init__(self, document: Any) -> None:
        self.document = document
        self.marked: dict[int, str] = {}

    def located(self, table: Any) -> Located:
        import tomlkit

        if not table:
            return Located({}, None, {})
        for item in _items(table):
            self.marked[id(item)] = mark = f"{MARK}{len(self.marked)}:"
            item.comment(mark)
        lines = {
            f"{MARK}{number}:": index
            for index, line in enumerate(tomlkit.dumps(self.document).splitlines(), 1)
            for number in re.findall(rf"{MARK}(\d+):", line)
        }
        # The line of a mark is where a value ends, which is where it begins unless it spans several.
        return self._located(table, None, lines)

    def _located(self, item: Any, line: int | None, lines: Mapping[str, int]) -> Located:
        at = lines.get(self.marked.get(id(item), ""), line)
        if at is not None and not _is_table(item) and id(item) in self.marked:
            at -= item.as_string().count("\n")
        if isinstance(item, Mapping):
            values = {str(key): self._located(value, at, lines) for key, value in item.items()}
            return Located(values, at, {key: value.line for key, value in values.items()})
        if isinstance(item, list):
            elements = list(self._elements(item, at, lines))
            return Located(elements, at or next((one.line for one in elements), None), {})
        return Located(item.unwrap() if hasattr(item, "unwrap") else item, at, {})

    def _elements(self, items: Any, line: int | None, lines: Mapping[str, int]) -> Iterator[Located]:
        """Elements of an array in one value stand where their text does, one after the other."""
        text = "" if _is_table(items) else items.as_string()
        reached = 0
        for item in items:
            own = None if _is_table(item) else item.as_string()
            if own is not None and line is not None and own in text[reached:]:
                reached = text.index(own, reached)
                yield self._located(item, line + text[:reached].count("\n"), lines)
                reached += len(own)
            else:
                yield self._located(item, line, lines)


MARK = "jaxdoctor-line-"


def _is_table(item: Any) -> bool:
    from tomlkit.items import AoT, Table

    return isinstance(item, AoT | Table)


def _items(table: Any) -> Iterator[Any]:
    """A table's items at every depth that take a comment: those of an array or an inline table take none."""
    from tomlkit.items import AoT, Table

    if isinstance(table, Table):
        yield table
    for item in table.values():
        if isinstance(item, AoT):
            for entry in item:
                yield from _items(entry)
        elif isinstance(item, Table):
            yield from _items(item)
        elif hasattr(item, "comment"):
            yield item
