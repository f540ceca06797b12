"""A configuration against the schema that ships with it: what is wrong, in which line, and what was meant."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from jaxdoctor.config.document import YAML_WORDS, Located
from jaxdoctor.errors import ConfigError

NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a word",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@functools.cache
def schema() -> dict[str, Any]:
    """The JSON schema of a configuration, which editors may use too."""
    text = files("jaxdoctor").joinpath("schema/config-1.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def check(document: Located, path: Path) -> None:
    """Insists that the document fits the schema.

    Raises:
        ConfigError: it does not; the message names the first line that is wrong.
    """
    from jsonschema import Draft202012Validator

    found = [
        (node.line or 0, len(error.absolute_path), _message(error, node), node)
        for error in Draft202012Validator(schema()).iter_errors(document.plain)
        if not _is_word(error)
        for node in [_node(document, error.absolute_path)]
    ]
    if not found:
        return
    _, _, (line, message, hint), _ = min(found, key=lambda one: (one[2][0] or 0, one[1]))
    where = f"{path}:{line}" if line else str(path)
    raise ConfigError(f"{where}: {message}", hint=hint)


def _is_word(error: Any) -> bool:
    """Whether a boolean stands where `off` or `on` was written."""
    return (
        error.validator == "enum"
        and isinstance(error.instance, bool)
        and YAML_WORDS[error.instance] in error.validator_value
    )


def _node(document: Located, path: Iterable[str | int]) -> Located:
    for step in path:
        document = document.value[step]
    return document


Told = tuple[int | None, str, str]
"""A line, what is wrong in it, and what to do."""


def _message(error: Any, node: Located) -> Told:
    name, value, rule = _called(list(error.absolute_path)), error.instance, error.validator_value
    line, message, hint = node.line, f"{name} is {value!r}", ""
    match error.validator:
        case "additionalProperties":
            return _unknown_key(error, node, name)
        case "required":
            key = next(key for key in rule if key not in value)
            message, hint = (
                f"{name} lacks {key!r}",
                f"add it: {error.schema['properties'][key]['description']}",
            )
        case "oneOf":
            words = " or ".join(repr(choice["required"][0]) for choice in rule)
            message, hint = f"{name} needs either {words}", "give one of them alone"
        case "enum":
            near = difflib.get_close_matches(str(value), rule, n=1)
            known = f"did you mean {near[0]!r}? known are" if near else "known are"
            message, hint = f"{name} cannot be {value!r}", f"{known} {', '.join(rule)}"
        case "type":
            shown = {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), f"{value!r}")
            message, hint = f"{name} is {shown}", f"it must be {NAMES[rule]}"
        case "minimum":
            hint = f"it must be at least {rule}"
        case "maximum":
            hint = f"it must be at most {rule}"
        case "exclusiveMinimum":
            hint = f"it must be more than {rule}"
        case "pattern":
            hint = "say why, in a few words"
        case _:
            hint = str(error.message)
    return line, message, hint


def _unknown_key(error: Any, node: Located, name: str) -> Told:
    known = list(error.schema.get("properties", {}))
    key = next(key for key in error.instance if key not in known)
    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return node.key_lines.get(key), f"{name} has no key {key!r}", f"{hint}known are {', '.join(known)}"


def _called(path: list[str | int]) -> str:
    """What a value is called: its key, or an entry of its list."""
    if not path:
        return "the configuration"
    return f"{path[-1]!r}" if isinstance(path[-1], str) else f"an entry of {_called(path[:-1])}"
