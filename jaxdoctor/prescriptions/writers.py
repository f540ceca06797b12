"""A prescription in the six forms that a user pastes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from jaxdoctor.facts.prescription import Means, Prescription, Setting

NOTHING = "nothing needs to be set"


def write_python(prescription: Prescription) -> str:
    """Lines for the top of a program, before its first JAX computation."""
    flags, variables = prescription.by(Means.XLA), prescription.by(Means.ENVIRONMENT)
    options = prescription.by(Means.JAX)
    lines = [*_opening(prescription)]
    if flags or variables:
        lines += ["# Before jax is imported:", "import os", ""]
    for setting in variables:
        lines += [*_why(setting), f"os.environ[{json.dumps(setting.key)}] = {json.dumps(setting.word)}"]
    for setting in flags:
        lines += [
            *_why(setting),
            f'os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + {json.dumps(" " + _flag(setting))}',
        ]
    if options:
        lines += ["", "import jax", ""] if lines else ["import jax", ""]
    for setting in options:
        value = setting.value if isinstance(setting.value, bool) else json.dumps(setting.value)
        lines += [*_why(setting), f"jax.config.update({json.dumps(setting.key)}, {value})"]
    return _joined([*lines, *_closing(prescription)])


def write_shell(prescription: Prescription) -> str:
    """Exports for a POSIX shell."""
    lines = [*_opening(prescription)]
    for setting in prescription.settings:
        if setting.means is Means.XLA:
            export = f'export XLA_FLAGS="${{XLA_FLAGS:-}} "{shlex.quote(_flag(setting))}'
        else:
            export = f"export {_variable(setting)}={shlex.quote(setting.word)}"
        lines += [*_why(setting), export]
    return _joined([*lines, *_closing(prescription)])


def write_yaml(prescription: Prescription) -> str:
    """An `env:` mapping, as workflows, Compose files and pod templates take it."""
    lines = [*_opening(prescription), "env:" if prescription.settings else "env: {}"]
    for name, value, settings in _variables(prescription):
        lines += [f"  {line}" for setting in settings for line in _why(setting)]
        lines.append(f"  {name}: {_quoted(value)}")
    return _joined([*lines, *_closing(prescription)])


def write_dockerfile(prescription: Prescription) -> str:
    """ENV instructions for a Dockerfile."""
    lines = [*_opening(prescription)]
    for name, value, settings in _variables(prescription):
        escaped = _quoted(value).replace("$", "\\$")
        lines += [*(line for setting in settings for line in _why(setting)), f"ENV {name}={escaped}"]
    return _joined([*lines, *_closing(prescription)])


def write_sbatch(prescription: Prescription) -> str:
    """The head of a batch script: Slurm hands the variables on, the exports set them in the job."""
    return "#!/bin/bash\n#SBATCH --export=ALL\n" + write_shell(prescription)


def write_env(prescription: Prescription) -> str:
    """Lines of a `.env` file: name and value, nothing quoted, nothing expanded."""
    lines = [*_opening(prescription)]
    for name, value, settings in _variables(prescription):
        lines += [*(line for setting in settings for line in _why(setting)), f"{name}={value}"]
    return _joined([*lines, *_closing(prescription)])


WRITERS: Mapping[str, Callable[[Prescription], str]] = MappingProxyType(
    {
        "python": write_python,
        "shell": write_shell,
        "yaml": write_yaml,
        "dockerfile": write_dockerfile,
        "sbatch": write_sbatch,
        "env": write_env,
    }
)
"""What `--emit` takes."""


def _opening(prescription: Prescription) -> Iterator[str]:
    if not prescription.settings:
        yield f"# {NOTHING}"
    for removal in prescription.removals:
        yield f"# take out: {_one_line(removal)}"
    for conflict in prescription.conflicts:
        yield f"# conflict, not set: {_one_line(conflict)}"


def _closing(prescription: Prescription) -> Iterator[str]:
    for sentence in prescription.reach:
        yield f"# not reached: {_one_line(sentence)}"


def _why(setting: Setting) -> Iterator[str]:
    codes = ", ".join(setting.because)
    yield f"# {codes}: {_one_line(setting.reason)}" if codes else f"# {_one_line(setting.reason)}"
    yield f"# price: {_one_line(setting.price) if setting.price else 'not measured'}"


def _one_line(text: str) -> str:
    """A comment ends at a line break, whatever Unicode calls one."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _variables(prescription: Prescription) -> Iterator[tuple[str, str, tuple[Setting, ...]]]:
    """Environment variables with their values and what is behind them: all XLA flags are one variable."""
    flags = prescription.by(Means.XLA)
    for setting in prescription.settings:
        if setting.means is not Means.XLA:
            yield _variable(setting), setting.word, (setting,)
    if flags:
        yield "XLA_FLAGS", " ".join(_flag(setting) for setting in flags), flags


def _variable(setting: Setting) -> str:
    return setting.key.upper() if setting.means is Means.JAX else setting.key


def _flag(setting: Setting) -> str:
    return f"--{setting.key}={setting.word}"


def _quoted(value: str) -> str:
    """A double-quoted string that YAML and Dockerfiles read alike."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
