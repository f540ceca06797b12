"""The object that "package.module:name" or "file.py:name" names. Runs the user's code."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from pathlib import Path
from typing import Any

from jaxdoctor.errors import JaxdoctorError, NothingExaminedError, UnknownNameError, UsageError
from jaxdoctor.facts.text import clean
from jaxdoctor.programs.authors import is_users

LONGEST_QUOTE = 320
"""Of somebody else's message, so many characters are quoted."""


def find(target: str) -> Any:
    """The object that `package.module:name` or `file.py:name` names.

    Raises:
        UsageError: nothing of that name can be imported.
        NothingExaminedError: the import raises.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise UsageError(
            f"{target!r} names no function", hint="write package.module:function or file.py:function"
        )
    module = _load(where)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in vars(module) if callable(getattr(module, known)) and known[0] != "_"]
            raise UnknownNameError(f"function in {where}", name, known)
        found = getattr(found, part)
    return found


def _load(where: str) -> Any:
    try:
        if where.endswith(".py"):
            return _load_file(Path(where))
        return importlib.import_module(where)
    except JaxdoctorError:
        raise
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{where} cannot be imported: {first_line(error)}",
            hint="run it from the folder that holds the package, or name the file: path/to/train.py:function",
        ) from error
    except (Exception, SystemExit) as error:
        raise NothingExaminedError(
            f"importing {where} raises {first_line(error)}", hint=_whereabouts(error)
        ) from error


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}", hint="write the path as seen from this folder")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def first_line(error: BaseException) -> str:
    """The type of the error and the first line that it says, not too much of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    # JAX says first that two types differ, and which they are in a later line.
    which = [line for line in lines[1:] if "has type" in line] if "they differ" in lines[0] else []
    said = clean(re.sub(r" at 0x[0-9a-f]+", "", " ".join([lines[0], *which[:1]]).replace(" * ", " ")))
    name = type(error).__name__
    return f"{name}: {said[:LONGEST_QUOTE]}" if said else name


def _whereabouts(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_users(frame.filename)]
    if not own:
        return "run it by hand to see the whole error"
    return f"it is raised at {own[-1].filename}:{own[-1].lineno}; run it by hand to see the whole error"


def raised(error: BaseException, doing: str) -> JaxdoctorError:
    """An exception of the user's code as an error of ours."""
    if isinstance(error, JaxdoctorError):
        return error
    return NothingExaminedError(f"{doing} raises {first_line(error)}", hint=_whereabouts(error))
