"""Model files: compiling one with MuJoCo's complaints turned into ours, and finding lines in one."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxdoctor.errors import NothingExaminedError, UnreadableError, UnsupportedModelError, UsageError

BINARY_SUFFIX = ".mjb"
SUFFIXES = (".xml", ".urdf", BINARY_SUFFIX)

LISTED = 5
"""So many neighbours of a file that is not there fit on one line."""


def is_model_file(argument: str) -> bool:
    """Whether the name ends as a model's does."""
    return Path(argument).suffix.lower() in SUFFIXES


def check_model_file(argument: str) -> None:
    """Whether there is such a file, without opening it.

    Raises:
        UsageError: there is none.
    """
    path = Path(argument)
    if path.is_file():
        return
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="give the model file in it")
    raise UsageError(f"{path} does not exist", hint=_nearby(path))


def _nearby(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist either"
    found = sorted(entry.name for entry in folder.iterdir() if is_model_file(entry.name))
    if not found:
        return f"{folder.resolve()} holds no model file"
    return f"{folder.resolve()} holds {', '.join(found[:LISTED])}{', ...' if len(found) > LISTED else ''}"


def compile_model(argument: str) -> Any:
    """The `mujoco.MjModel` of an MJCF, URDF or MJB file.

    Raises:
        UsageError: there is no such file.
        UnreadableError: it is not what its name says, or a file that it needs is missing.
        UnsupportedModelError: MuJoCo refuses it.
    """
    import mujoco  # noqa: PLC0415 (the parent only asks this file for suffixes)

    check_model_file(argument)
    path = Path(argument)
    _refuse_empty(path)
    with warnings_heard() as said:
        try:
            if path.suffix.lower() == BINARY_SUFFIX:
                return mujoco.MjModel.from_binary_path(str(path))
            return mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise _translate(path, str(error), said) from error


def _refuse_empty(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            start = stream.read(1)
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be opened: {error.strerror}", hint="check who may read it"
        ) from error
    if not start:
        raise UnreadableError(
            f"{path} is empty", hint="export the model again; a full disk leaves such files"
        )


_hearers: list[list[str]] = []


@contextlib.contextmanager
def warnings_heard() -> Iterator[list[str]]:
    """MuJoCo's warnings as a list. Left alone, MuJoCo writes them to MUJOCO_LOG.TXT in the current folder."""
    import mujoco  # noqa: PLC0415 (the parent only asks this file for suffixes)

    said: list[str] = []
    _hearers.append(said)
    mujoco.set_mju_user_warning(said.append)
    try:
        with warnings.catch_warnings():
            # The compiler says some of them a second time, as Python warnings.
            warnings.simplefilter("ignore")
            yield said
    finally:
        _hearers.pop()
        mujoco.set_mju_user_warning(_hearers[-1].append if _hearers else None)


_LINE = re.compile(r"[Ll]ine(?: number=| )(\d+)")
_MISSING = re.compile(r"Error opening file '([^']*)'")


def _translate(path: Path, complaint: str, said: list[str]) -> NothingExaminedError:
    """MuJoCo's exception text as one of our errors."""
    if path.suffix.lower() == BINARY_SUFFIX:
        because = f": {said[-1]}" if said else ""
        return UnreadableError(
            f"{path} is not a compiled model of this MuJoCo{because}",
            hint="MJB files open only in the version that saved them; save it again, or give the XML",
        )
    place = f"{path}{_at(complaint)}"
    missing = _MISSING.search(complaint)
    if missing is not None:
        return UnreadableError(
            f"{place} needs {missing[1]}, which is not there",
            hint=(
                f"meshdir, texturedir, assetdir and file are taken from {path.parent.resolve()}; what an "
                "environment adds in Python can be probed as its compiled model: "
                "mujoco.mj_saveModel(env.mj_model, 'env.mjb')"
            ),
        )
    if "XML parse error" in complaint:
        return UnreadableError(f"{place} is not well-formed XML", hint=_parser_words(complaint))
    if "Unrecognized XML model type" in complaint:
        return UnreadableError(
            f"{path} is XML, but no model: its outermost element is {complaint.rpartition(': ')[2]}",
            hint="a model's outermost element is <mujoco>, or <robot> in a URDF",
        )
    first, *rest = [line.strip() for line in complaint.splitlines() if line.strip()]
    first = first.removeprefix("XML Error: ").removeprefix("Error: ")
    element = re.sub(r",?\s*line \d+$", "", " ".join(rest))
    return UnsupportedModelError(
        f"MuJoCo refuses {place.rstrip(',')}: {first}",
        hint=f"mend {element}" if element else "mend the model; MuJoCo's simulate shows the same message",
    )


def _at(complaint: str) -> str:
    line = _LINE.search(complaint)
    return f", line {line[1]}," if line is not None and line[1] != "0" else ""


def _parser_words(complaint: str) -> str:
    code = re.search(r"Error=XML_(?:ERROR_)?(\w+)", complaint)
    word = code[1].replace("_", " ").lower() if code is not None else "unreadable text"
    return f"the parser says: {word}"
