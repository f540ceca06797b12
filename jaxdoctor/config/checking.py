"""A configuration against the schema that ships with it: what is wrong, in which line, and what was meant."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jaxdoctor.config.document import Located
from jaxdoctor.errors import ConfigError

NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a word",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}

YAML_WORDS = {True: "on", False: "off"}
"""YAML 1.1 reads these words as booleans; where words are expected they are words again."""


@functools.cache
def schema() -> dict[str, Any]:
    """The JSON schema of a configuration, which editors may use too."""
    text = files("jaxdoctor").joinpath("schema/config-1.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def check(document: Located, path: Path) -> None:
    """Insists that the document fits the schema.

    Raises:
        ConfigError: it does not; the message names the line.
    """
    _Checker(path).check(document, schema(), "the configuration")


class _Checker:
    """The part of JSON Schema that our schema uses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, node: Located, rule: dict[str, Any], name: str) -> None:
        rule = {**schema()["$defs"][rule["$ref"].rpartition("/")[2]], **rule} if "$ref" in rule else rule
        if "enum" in rule:
            self._enum(node, rule["enum"], name)
        if "type" in rule:
            self._type(node, rule["type"], name)
        if isinstance(node.value, dict):
            self._mapping(node, rule, name)
        elif isinstance(node.value, list):
            for item in node.value:
                self.check(item, rule.get("items", {}), f"an entry of {name}")
        else:
            self._bounds(node, rule, name)

    def _enum(self, node: Located, words: list[str], name: str) -> None:
        value = YAML_WORDS.get(node.value, node.value) if isinstance(node.value, bool) else node.value
        if value not in words:
            near = difflib.get_close_matches(str(value), words, n=1)
            hint = f"did you mean {near[0]!r}? known are" if near else "known are"
            raise self._error(node.line, f"{name} cannot be {value!r}", f"{hint} {', '.join(words)}")

    def _type(self, node: Located, kind: str, name: str) -> None:
        fits = isinstance(node.value, TYPES[kind])
        if isinstance(node.value, bool) and kind in {"integer", "number"}:
            fits = False
        if not fits:
            shown = {dict: "a mapping", list: "a list", type(None): "nothing"}.get(
                type(node.value), f"{node.value!r}"
            )
            raise self._error(node.line, f"{name} is {shown}", f"it must be {NAMES[kind]}")

    def _mapping(self, node: Located, rule: dict[str, Any], name: str) -> None:
        known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        for key, value in node.value.items():
            if key not in known and others is False:
                raise self._unknown(key, node, list(known), name)
            if key in known or isinstance(others, dict):
                self.check(value, known.get(key, others), f"{key!r}")
        for key in rule.get("required", ()):
            if key not in node.value:
                raise self._error(node.line, f"{name} lacks {key!r}", known[key]["description"])
        choices = [choice["required"][0] for choice in rule.get("oneOf", ())]
        if choices and sum(key in node.value for key in choices) != 1:
            words = " or ".join(map(repr, choices))
            raise self._error(node.line, f"{name} needs either {words}", "give one of the two, not both")

    def _unknown(self, key: str, node: Located, known: list[str], name: str) -> ConfigError:
        near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        line = node.key_lines.get(key)
        return self._error(line, f"{name} has no key {key!r}", f"{hint}known are {', '.join(known)}")

    def _bounds(self, node: Located, rule: dict[str, Any], name: str) -> None:
        value = node.value
        wrong = (
            ("minimum" in rule and value < rule["minimum"], f"it must be at least {rule.get('minimum')}"),
            ("maximum" in rule and value > rule["maximum"], f"it must be at most {rule.get('maximum')}"),
            (
                "exclusiveMinimum" in rule and not value > rule["exclusiveMinimum"],
                f"it must be more than {rule.get('exclusiveMinimum')}",
            ),
            ("minLength" in rule and len(value.strip()) < rule["minLength"], "say why, in a few words"),
        )
        for is_wrong, hint in wrong:
            if is_wrong:
                raise self._error(node.line, f"{name} is {value!r}", hint)

    def _error(self, line: int | None, message: str, hint: str) -> ConfigError:
        where = f"{self.path}:{line}" if line else str(self.path)
        return ConfigError(f"{where}: {message}", hint=hint)
