"""A configuration file as values that know their lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxdoctor.errors import ConfigError

YAML_NAMES = ("jaxdoctor.yaml", "jaxdoctor.yml")
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "jaxdoctor")


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
    """The nearest configuration from that folder upwards, as far as the user's home or the root."""
    for place in (folder, *folder.parents):
        for name in YAML_NAMES:
            if (place / name).is_file():
                return place / name
        pyproject = place / PYPROJECT
        if pyproject.is_file() and _has_table(pyproject):
            return pyproject
    return None


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
    text = _text(path)
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path} is no TOML: {error}", hint="look at the line and the one before"
        ) from error
    for name in TABLE:
        table = table.get(name, {})
    return _Toml(text).located(table, None)


class _Toml:
    """`tomllib` keeps no lines: a key stands in the first one after the table's head that begins with it."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        heads = (
            index
            for index, line in enumerate(self.lines)
            if re.match(r"\s*\[+\s*tool\s*\.\s*jaxdoctor", line)
        )
        self.head = next(heads, 0)

    def located(self, value: Any, line: int | None) -> Located:
        if isinstance(value, dict):
            lines = {key: self._line(key) for key in value}
            return Located({key: self.located(item, lines[key]) for key, item in value.items()}, line, lines)
        if isinstance(value, list):
            return Located([self.located(item, line) for item in value], line, {})
        return Located(value, line, {})

    def _line(self, key: str) -> int | None:
        pattern = re.compile(
            rf"""[\[{{,.\s]*["']?{re.escape(key)}["']?\s*[=\].]|.*[{{,\s]{re.escape(key)}\s*="""
        )
        found = (
            index + 1 for index, line in enumerate(self.lines) if index >= self.head and pattern.match(line)
        )
        return next(found, None)
