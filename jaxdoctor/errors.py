"""What a user can cause. Each error carries a way out.

JaxdoctorError                    exit code
├── UsageError                    2   the call is wrong
│   ├── UnknownNameError          2   nothing is called so; names the nearest
│   └── ConfigError               2   a configuration cannot be meant; names the line
├── NothingExaminedError          3   the call is right and there was nothing to judge
│   ├── UnreadableError           3   a file cannot be read as what it should be
│   ├── UnsupportedModelError     3   MuJoCo or MJX refuses the model
│   └── UnsupportedJaxError       3   this JAX lays programs out in a way that is not known
├── MissingExtraError             2   an optional package is not installed
├── MissingPackageError           2   the environment that is examined lacks a package
└── WorkerError                   3   a worker process died, hung or ran out of memory
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

FINDINGS = 1
"""The exit code when something at or above `--fail-on` was found."""

MISUSE = 2
NOTHING_EXAMINED = 3

BUG = 70
"""The exit code of a mistake of our own (EX_SOFTWARE of sysexits.h), apart from 1, which means findings."""

LISTABLE = 40
"""More names than this do not help whoever mistyped one."""

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells do."""

TERMINATED = 143
"""The exit code after SIGTERM, with which `timeout`, Slurm and CI end a job: 128 and its number."""

_interruption = [INTERRUPTED]


def terminated() -> None:
    """Says that the signal which ended the work was SIGTERM."""
    _interruption[0] = TERMINATED


def interruption() -> int:
    """The exit code of a partial report."""
    return _interruption[0]


class JaxdoctorError(Exception):
    """Something that the user can mend."""

    exit_code = NOTHING_EXAMINED

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles without calling `__init__`, whose parameters differ from class to class."""
        return _restore, (type(self), self.args, self.hint)


def _restore(kind: type[JaxdoctorError], arguments: tuple[Any, ...], hint: str) -> JaxdoctorError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.hint = hint
    return error


class UsageError(JaxdoctorError):
    """The command was called in a way that cannot be meant."""

    exit_code = MISUSE


class UnknownNameError(UsageError):
    """Nothing is called so. The hint names what is nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=1)
        listed = f"known are {', '.join(names)}" if len(names) <= LISTABLE else f"{len(names)} are known"
        super().__init__(
            f"there is no {kind} named {name!r}",
            hint=f"did you mean {near[0]!r}? {listed}" if near else listed,
        )


class ConfigError(UsageError):
    """A configuration file, or a baseline, says something that cannot be meant."""


EXTRAS = {"brax", "hdf5", "playground", "probe", "warp"}
"""The extras of pyproject.toml; a test compares."""


class MissingExtraError(UsageError):
    """An optional package is needed and not installed: one of our extras, or a package of that name."""

    def __init__(self, what: str, *, extra: str) -> None:
        named = f"'jaxdoctor[{extra}]'" if extra in EXTRAS else extra
        super().__init__(f"{what} needs a package that is not installed", hint=f"pip install {named}")


class MissingPackageError(UsageError):
    """The environment in which a worker runs lacks a package."""

    def __init__(self, package: str, python: str) -> None:
        # jaxdoctor's own extras hold all of these; an environment of the user's is not changed by itself.
        super().__init__(
            f"{package} is not installed for {python}",
            hint=f"install it there ({python} -m pip install {package}), or name the Python that has it with "
            "--python; checkpoints can be scanned without it",
        )


class NothingExaminedError(JaxdoctorError):
    """There was nothing to judge."""


class UnreadableError(NothingExaminedError):
    """A file is not what it should be."""


class UnsupportedModelError(NothingExaminedError):
    """MuJoCo refuses the model, or MJX does not support what it contains."""


class UnsupportedJaxError(NothingExaminedError):
    """This JAX lays its traced programs out in a way that is not known."""

    def __init__(self, jax: str, newest_tried: str, detail: str) -> None:
        super().__init__(
            f"jax {jax} lays its programs out in a way that is not known ({detail})",
            hint=f"use jax {newest_tried}, the newest that was tried, or a newer jaxdoctor",
        )


class WorkerError(NothingExaminedError):
    """A worker process gave no result."""
