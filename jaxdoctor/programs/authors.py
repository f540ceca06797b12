"""Who wrote a line of a JAX program: the user, a library, or JAX itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax
import jaxlib
from jax.extend import core

import jaxdoctor
from jaxdoctor.facts.attribution import FROM
from jaxdoctor.facts.closed_loop import POLICY_SCOPE
from jaxdoctor.programs.jax_internals import frames, scopes

OWN_ROOMS = ("programs", "replay", "updates", "workers")
"""Rooms of ours whose frames stand between a user's line and JAX. `remedies` is called by the user."""


def _folder(file: str | None) -> str:
    assert file is not None
    return os.path.dirname(file) + os.sep  # noqa: PTH120 (compared with the text of a frame, which is no path object)


# Folders, not words in a path: a project below any folder named `jax` is the user's own.
JAX_FOLDERS = (_folder(jax.__file__), _folder(jaxlib.__file__))
OWN_FOLDERS = tuple(_folder(jaxdoctor.__file__) + room + os.sep for room in OWN_ROOMS)
STANDARD_LIBRARY = _folder(os.__file__)
INSTALLED = ("site-packages", "dist-packages")


def is_users(file: str) -> bool:
    """Whether the file is the user's or a library's: neither JAX's, nor ours, nor Python's own."""
    if file.startswith((*JAX_FOLDERS, *OWN_FOLDERS, "<")):
        return False
    # Outside a virtual environment the installed packages lie in the folder of the standard library.
    return not file.startswith(STANDARD_LIBRARY) or any(
        f"{os.sep}{each}{os.sep}" in file for each in INSTALLED
    )


def place_of(eqn: core.JaxprEqn) -> str:
    """The innermost line outside JAX that asked for the equation: "mjx/_src/support.py:162 (make_m)".

    What a policy computes is told by its layer instead of its function: "layers.py:17 (policy hidden_0)".

    A line of a library of layers is that of every layer of a kind. So the line that called the layer stands
    beside it, and its name where the library tells it: "flax/linen/linear.py:287 from net.py:12 (hidden_0)".
    """
    found = user_frames(eqn)
    if not found:
        return "unknown"
    line = _line(found[0])
    what = _layer(eqn) or found[0].function_name.split(".")[-1]
    if (library := line.partition("/")[0]) in LAYERS:
        what = next(reversed(scopes(eqn)), what)
        callers = [_line(each) for each in found if _line(each).partition("/")[0] != library]
        line += f"{FROM}{callers[0]}" if callers else ""
    return f"{line} ({what})"


LAYERS = ("flax", "haiku", "equinox")
"""Packages whose lines compute many layers."""


def _line(frame: Any) -> str:
    return f"{_from_packages(frame.file_name)}:{frame.line_num}"


def _layer(eqn: core.JaxprEqn) -> str | None:
    """The layer of the policy that drives an environment; None: the equation is not in one."""
    around = scopes(eqn)
    if POLICY_SCOPE not in around:
        return None
    layers = around[around.index(POLICY_SCOPE) + 1 :]
    return f"policy {'/'.join(layers)}" if layers else None


def user_frames(eqn: Any) -> tuple[Any, ...]:
    """The frames of the user and of libraries, innermost first."""
    return tuple(frame for frame in frames(eqn) if is_users(frame.file_name))


def _from_packages(file: str) -> str:
    for root in ("/site-packages/", "/dist-packages/"):
        _, found, after = file.partition(root)
        if found:
            return after
    return file.rpartition("/")[2]


def shorten(file: str) -> str:
    """The path as seen from this folder, or from the folder of installed packages."""
    _, found, inside = file.partition("site-packages/")
    if found:
        return inside
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
