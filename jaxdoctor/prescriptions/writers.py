"""A prescription in the six forms that a user pastes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.prescriptions.statements import in_python, in_shell, variables

NOTHING = "no settings needed for what was examined"

NOTHING_JUDGED = "nothing else needs to be set"


def write_python(prescription: Prescription) -> str:
    """Lines for the top of a program, before its first JAX computation."""
    flags, environment = prescription.by(Means.XLA), prescription.by(Means.ENVIRONMENT)
    options = prescription.by(Means.JAX)
    lines = [*_opening(prescription)]
    if flags or environment:
        lines += ["# Before jax is imported:", "import os", ""]
    for setting in (*environment, *flags):
        lines += [*_why(setting), in_python(setting)]
    if options:
        lines += ["", "import jax", ""] if lines else ["import jax", ""]
    for setting in options:
        lines += [*_why(setting), in_python(setting)]
    return _joined([*lines, *_closing(prescription)])


def write_shell(prescription: Prescription) -> str:
    """Exports for a POSIX shell."""
    lines = [*_opening(prescription)]
    for setting in prescription.settings:
        lines += [*_why(setting), in_shell(setting)]
    return _joined([*lines, *_closing(prescription)])


def write_yaml(prescription: Prescription) -> str:
    """An `env:` mapping, as workflows, Compose files and pod templates take it."""
    lines = [*_opening(prescription), "env:" if prescription.settings else "env: {}"]
    for name, value, settings in variables(prescription):
        lines += [f"  {line}" for setting in settings for line in _why(setting)]
        lines.append(f"  {name}: {_quoted(value)}")
    return _joined([*lines, *_closing(prescription)])


def write_dockerfile(prescription: Prescription) -> str:
    """ENV instructions for a Dockerfile."""
    lines = [*_opening(prescription)]
    for name, value, settings in variables(prescription):
        escaped = _quoted(value).replace("$", "\\$")
        lines += [*(line for setting in settings for line in _why(setting)), f"ENV {name}={escaped}"]
    return _joined([*lines, *_closing(prescription)])


def write_sbatch(prescription: Prescription) -> str:
    """The head of a batch script: Slurm hands the variables on, the exports set them in the job."""
    return "#!/bin/bash\n#SBATCH --export=ALL\n" + write_shell(prescription)


def write_env(prescription: Prescription) -> str:
    """Lines of a `.env` file: name and value, nothing quoted, nothing expanded."""
    lines = [*_opening(prescription)]
    for name, value, settings in variables(prescription):
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
    for sentence in prescription.unjudged:
        yield f"# not judged: {_one_line(sentence)}"
    if not prescription.settings:
        yield f"# {NOTHING_JUDGED if prescription.unjudged else NOTHING}"
    for removal in prescription.removals:
        yield f"# remove: {_one_line(removal)}"
    for conflict in prescription.conflicts:
        yield f"# conflict, not set: {_one_line(conflict)}"


def _closing(prescription: Prescription) -> Iterator[str]:
    for sentence in prescription.instead:
        yield f"# instead: {_one_line(sentence)}"
    for sentence in prescription.reach:
        yield f"# {_one_line(sentence)}"


def _why(setting: Setting) -> Iterator[str]:
    codes = ", ".join(setting.because)
    yield f"# {codes}: {_one_line(setting.reason)}" if codes else f"# {_one_line(setting.reason)}"
    if setting.price:
        yield f"# costs: {_one_line(setting.price)}"


def _one_line(text: str) -> str:
    """A comment ends at a line break, whatever Unicode calls one."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _quoted(value: str) -> str:
    """A double-quoted string that YAML and Dockerfiles read alike."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
