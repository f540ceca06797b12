"""The line of the user's own that a call comes from."""

from __future__ import annotations

from types import FrameType

from jaxdoctor.programs.authors import is_users

PACKAGES = "site-packages/"


def whence(frame: FrameType | None) -> tuple[str, int]:
    """The file and the innermost line of the user's own, or else of a package."""
    first: tuple[str, int] | None = None
    while frame is not None:
        file = frame.f_code.co_filename
        if is_users(file):
            first = first or (file, frame.f_lineno)
            if PACKAGES not in file:
                return file, frame.f_lineno
        frame = frame.f_back
    return first or ("unknown", 0)
