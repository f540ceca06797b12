"""The commented file that `jaxdoctor preflight --init` writes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from jaxdoctor.errors import UsageError


def starter() -> str:
    """Its text."""
    return files("jaxdoctor.config").joinpath("starter.yaml").read_text(encoding="utf-8")


def write_starter(path: Path) -> Path:
    """Writes it where nothing stands yet.

    Raises:
        UsageError: there is a file already, or none can be written.
    """
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(starter())
    except FileExistsError as error:
        raise UsageError(f"{path} exists already", hint="remove it, or name another with --config") from error
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", hint="name another place with --config"
        ) from error
    return path
