"""Puts the files of a bundle into a folder of their own, none outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jaxdoctor.bundles.bundle import FILES
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.files import inside


def unpack(files: Mapping[str, bytes], folder: Path, *, below: str = FILES) -> list[Path]:
    """Writes each member whose name begins with `below`, by the rest of its name.

    Raises:
        UnreadableError: a name leaves the folder, or names a folder that is a file.
    """
    written = []
    for name, content in files.items():
        if not name.startswith(below):
            continue
        try:
            path = inside(folder, name.removeprefix(below))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        except (DamagedError, OSError) as error:
            raise UnreadableError(
                f"the member {name[:200]!r} cannot be unpacked into {folder}: {error}",
                hint="name an empty folder; if it is one, find out who wrote this bundle",
            ) from error
        written.append(path)
    return written
