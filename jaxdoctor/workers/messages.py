"""What crosses the pipe between a command and its worker: plain values, and dataclasses of ours.

The worker may run in another Python with another NumPy, so no class of a library crosses, and nothing is
looked up by name outside `jaxdoctor`.
"""

from __future__ import annotations

import enum
import pickle
from pathlib import Path, PurePath
from typing import IO, Any

PROTOCOL = 4
"""Every Python that can be named with `--python` reads it."""

PLAIN = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
}
"""Names outside `jaxdoctor` that a message may hold."""

TESTS = "tests."
"""Tests send exceptions and values of their own modules."""


class NotPlainError(TypeError):
    """Something was to be sent that only exists where a library is installed."""


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, PurePath):
            return Path, (str(value),)
        kind = type(value)
        if isinstance(value, enum.Enum):
            # Python 3.11.0 to 3.11.3, as in Debian 12, would look it up with `getattr`.
            return kind, (value.value,)
        if kind.__module__.partition(".")[0] == "numpy":
            if getattr(value, "shape", None) == () and hasattr(value, "item"):
                return _same, (value.item(),)
            raise NotPlainError(
                f"a {kind.__module__}.{kind.__name__} cannot be sent: make it bytes or a list"
            )
        return NotImplemented


def _same(value: object) -> object:
    """A NumPy scalar, as the Python number that it is."""
    return value


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # pathlib's classes stand in another module from Python 3.13 on, and one of the two may be older.
        if module.partition(".")[0] == "pathlib" and name.endswith(("Path", "PurePath")):
            return Path
        if module.startswith(("jaxdoctor.", TESTS)) or name in PLAIN.get(module, ()):
            return super().find_class(module, name)
        raise NotPlainError(f"{module}.{name} is nothing that a worker sends")


def send(message: object, pipe: IO[bytes]) -> None:
    """Writes one message.

    Raises:
        NotPlainError: it holds an array.
    """
    _Pickler(pipe, PROTOCOL).dump(message)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Reads one message.

    Raises:
        EOFError: the other side has ended.
        NotPlainError: it names something outside jaxdoctor.
        pickle.UnpicklingError: the bytes are no message.
    """
    return _Unpickler(pipe).load()
