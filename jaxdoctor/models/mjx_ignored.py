"""What MuJoCo acts on and MJX's JAX implementation passes over in silence, told from the compiled model.

The table follows mujoco-mjx 3.17: it takes these fields with the model, and no line of its step reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Feature
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.mjx_support import option_line
from jaxdoctor.models.servos import is_off

POLYNOMIAL = "that is a polynomial"

FIELDS = (
    ("joint", ("dof_dampingpoly",), f"with damping {POLYNOMIAL}"),
    ("joint", ("jnt_stiffnesspoly",), f"with stiffness {POLYNOMIAL}"),
    ("joint", ("jnt_springyield",), "with springyield"),
    ("tendon", ("tendon_dampingpoly",), f"with damping {POLYNOMIAL}"),
    ("tendon", ("tendon_stiffnesspoly",), f"with stiffness {POLYNOMIAL}"),
    ("tendon", ("tendon_springyield",), "with springyield"),
    ("actuator", ("actuator_damping", "actuator_dampingpoly"), "with damping"),
    ("actuator", ("actuator_armature",), "with armature"),
    ("actuator", ("actuator_delay",), "with delay"),
    ("geom", ("geom_surfacevel",), "with surfacevel"),
    ("geom", ("geom_adhesion",), "with adhesion"),
)
"""Element, fields of the model that are zero where the feature is not used, and what is said of it.

MuJoCo before 4.0 has none of them.
"""


def ignored(model: Any, spots: ElementLines) -> Iterator[Feature]:
    """One feature for all elements that are passed over alike, at the first of them."""
    if model.opt.noslip_iterations:
        count = str(model.opt.noslip_iterations)
        yield Feature(
            what=f'noslip_iterations="{count}"',
            line=option_line(spots.path, {"noslip_iterations": count}),
        )
    if model.nplugin:
        others = f"{model.nplugin} plugins" if model.nplugin > 1 else "a plugin"
        yield Feature(what=others, line=spots.line("plugin", 0))
    for element, fields, trait in FIELDS:
        rows = {row for field in fields for row in _used(model, field)}
        if fields[0].startswith("dof_"):
            rows = {int(model.dof_jntid[row]) for row in rows}
        yield from _feature(spots, element, rows, trait)
    yield from _of_options(model, spots)


def _of_options(model: Any, spots: ElementLines) -> Iterator[Feature]:
    """What elements ask for that acts only beside something else."""
    driven = model.actuator_dyntype != mujoco.mjtDyn.mjDYN_NONE
    early = np.flatnonzero(model.actuator_actearly.astype(bool) & driven)
    yield from _feature(spots, "actuator", early, 'with actearly="true"')
    off = [actuator for actuator in range(model.nu) if is_off(model, actuator)]
    yield from _feature(spots, "actuator", off, "of a group that actuatorgroupdisable switches off")
    option = model.opt
    if option.density > 0 or option.viscosity > 0 or option.wind.any():
        yield from _feature(spots, "geom", _used(model, "geom_fluid"), 'with fluidshape="ellipsoid"')


def _used(model: Any, field: str) -> list[int]:
    """The rows of a field that are not all zero; none where this MuJoCo has no such field."""
    values = getattr(model, field, None)
    if values is None or not len(values):
        return []
    rows = np.flatnonzero(np.asarray(values).reshape(len(values), -1).any(axis=1))
    return [int(row) for row in rows]


def _feature(spots: ElementLines, element: str, rows: Iterable[int], trait: str) -> Iterator[Feature]:
    found = sorted(int(row) for row in rows)
    if found:
        spot = spots.at(element, found[0])
        others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        yield Feature(what=f"{spot} {trait}{others}", line=spot.line)
