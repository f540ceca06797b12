"""Where the elements of a compiled model stand in its file."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import mujoco

from jaxdoctor.facts.model import SourceLocation
from jaxdoctor.models.compile import BINARY_SUFFIX, warnings_heard
from jaxdoctor.models.lines import element_line
from jaxdoctor.models.scenario import PREFIX, scenario_path

KINDS = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "equality": mujoco.mjtObj.mjOBJ_EQUALITY,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "sensor": mujoco.mjtObj.mjOBJ_SENSOR,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
    "mesh": mujoco.mjtObj.mjOBJ_MESH,
    "flex": mujoco.mjtObj.mjOBJ_FLEX,
    "plugin": mujoco.mjtObj.mjOBJ_PLUGIN,
}

LISTS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "equality": "equalities",
    "tendon": "tendons",
    "actuator": "actuators",
    "sensor": "sensors",
    "pair": "pairs",
    "mesh": "meshes",
    "flex": "flexes",
}
"""What `mujoco.MjSpec` calls the elements of a kind."""


class ElementLines:
    """Names and lines of a model's elements. The file is parsed when the first line is asked for."""

    def __init__(self, model: mujoco.MjModel, argument: str) -> None:
        self._model = model
        self.path = _file_of(argument)
        """The MJCF file; None when there is none, as for an MJB."""

    def at(self, element: str, index: int) -> SourceLocation:
        """The element of that kind and number."""
        name = mujoco.mj_id2name(self._model, KINDS[element], int(index))
        return SourceLocation(element=element, name=name or f"#{index}", line=self.line(element, index))

    def line(self, element: str, index: int) -> int | None:
        """The line it stands on; None when it cannot be told in which file."""
        return self._lines.get((element, int(index)))

    @functools.cached_property
    def _lines(self) -> dict[tuple[str, int], int]:
        if self.path is None or element_line(self.path, "include") is not None:
            # MuJoCo tells the line, and not in which of the files that include one another.
            return {}
        with warnings_heard():
            try:
                spec = mujoco.MjSpec.from_file(str(self.path))
                spec.compile()
            except ValueError:
                return {}
            return dict(_numbered(spec))


def _numbered(spec: Any) -> list[tuple[tuple[str, int], int]]:
    return [
        ((kind, int(element.id)), int(element.info.removeprefix("line ")))
        for kind, plural in LISTS.items()
        for element in getattr(spec, plural, ())
        if element.info.startswith("line ") and element.info.removeprefix("line ").isdecimal()
    ]


def _file_of(argument: str) -> Path | None:
    if argument.startswith(PREFIX):
        return scenario_path(argument.removeprefix(PREFIX))
    path = Path(argument)
    return None if path.suffix.lower() == BINARY_SUFFIX or not path.is_file() else path
