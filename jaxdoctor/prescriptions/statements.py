"""A setting as a statement: the one place that knows its name in an environment, a shell and Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from jaxdoctor.facts.prescription import Means, Prescription, Setting

XLA_FLAGS = "XLA_FLAGS"


def variable(setting: Setting) -> str:
    """The environment variable that holds it: all XLA flags share one."""
    if setting.means is Means.XLA:
        return XLA_FLAGS
    return setting.key.upper() if setting.means is Means.JAX else setting.key


def flag(setting: Setting) -> str:
    """An XLA flag as XLA_FLAGS holds it."""
    return f"--{setting.key}={setting.word}"


def variables(prescription: Prescription) -> Iterator[tuple[str, str, tuple[Setting, ...]]]:
    """Environment variables with their values and the settings behind each."""
    flags = prescription.by(Means.XLA)
    for setting in prescription.settings:
        if setting.means is not Means.XLA:
            yield variable(setting), setting.word, (setting,)
    if flags:
        yield XLA_FLAGS, " ".join(map(flag, flags)), flags


def in_shell(setting: Setting) -> str:
    """An export for a POSIX shell; a flag joins those that are set already."""
    if setting.means is Means.XLA:
        return f'export {XLA_FLAGS}="${{{XLA_FLAGS}:-}} "{shlex.quote(flag(setting))}'
    return f"export {variable(setting)}={shlex.quote(setting.word)}"


def in_python(setting: Setting) -> str:
    """A statement for a program: an update of JAX's option, else a variable before jax is imported."""
    if setting.means is Means.JAX:
        return f"jax.config.update({json.dumps(setting.key)}, {python_value(setting)})"
    if setting.means is Means.XLA:
        added = json.dumps(f" {flag(setting)}")
        return f'os.environ["{XLA_FLAGS}"] = os.environ.get("{XLA_FLAGS}", "") + {added}'
    return f"os.environ[{json.dumps(setting.key)}] = {json.dumps(setting.word)}"


def python_value(setting: Setting) -> str:
    """Its value as Python spells it."""
    return str(setting.value) if isinstance(setting.value, bool) else json.dumps(setting.value)
