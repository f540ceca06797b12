"""What MuJoCo has and MJX's JAX implementation has not, told from the compiled model without importing jax.

MJX itself decides: `mjx_refusals` turns what it raises into an error that names the feature and
its line. The tables follow mujoco-mjx 3.17 (mujoco/mjx/_src/types.py, collision_driver.py and io.py).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.facts.model import Feature, SourceLocation
from jaxdoctor.models.contacts import geom_pairs
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.lines import element_line
from jaxdoctor.models.mjx_model import mjx_pair

GEOM = mujoco.mjtGeom
PAIRS = {
    frozenset(pair)
    for pair in (
        *((GEOM.mjGEOM_PLANE, other) for other in (
            GEOM.mjGEOM_SPHERE, GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_BOX, GEOM.mjGEOM_ELLIPSOID,
            GEOM.mjGEOM_CYLINDER, GEOM.mjGEOM_MESH)),
        *((GEOM.mjGEOM_HFIELD, other) for other in (
            GEOM.mjGEOM_SPHERE, GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_BOX, GEOM.mjGEOM_MESH)),
        *((GEOM.mjGEOM_SPHERE, other) for other in (
            GEOM.mjGEOM_SPHERE, GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_CYLINDER, GEOM.mjGEOM_ELLIPSOID,
            GEOM.mjGEOM_BOX, GEOM.mjGEOM_MESH)),
        *((GEOM.mjGEOM_CAPSULE, other) for other in (
            GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_BOX, GEOM.mjGEOM_ELLIPSOID, GEOM.mjGEOM_CYLINDER,
            GEOM.mjGEOM_MESH)),
        (GEOM.mjGEOM_ELLIPSOID, GEOM.mjGEOM_ELLIPSOID),
        (GEOM.mjGEOM_ELLIPSOID, GEOM.mjGEOM_CYLINDER),
        (GEOM.mjGEOM_CYLINDER, GEOM.mjGEOM_CYLINDER),
        (GEOM.mjGEOM_BOX, GEOM.mjGEOM_BOX),
        (GEOM.mjGEOM_BOX, GEOM.mjGEOM_MESH),
        (GEOM.mjGEOM_MESH, GEOM.mjGEOM_MESH),
    )
}  # fmt: skip
"""Types of geoms whose contacts MJX computes."""

WITHOUT_MARGIN = {GEOM.mjGEOM_MESH, GEOM.mjGEOM_HFIELD}
"""Types of geoms that MJX refuses a margin or gap on."""

SENSORS = {
    "MAGNETOMETER", "CAMPROJECTION", "RANGEFINDER", "JOINTPOS", "TENDONPOS", "ACTUATORPOS", "BALLQUAT",
    "FRAMEPOS", "FRAMEXAXIS", "FRAMEYAXIS", "FRAMEZAXIS", "FRAMEQUAT", "SUBTREECOM", "CLOCK", "VELOCIMETER",
    "GYRO", "JOINTVEL", "TENDONVEL", "ACTUATORVEL", "BALLANGVEL", "FRAMELINVEL", "FRAMEANGVEL",
    "SUBTREELINVEL", "SUBTREEANGMOM", "TOUCH", "CONTACT", "ACCELEROMETER", "FORCE", "TORQUE", "ACTUATORFRC",
    "JOINTACTFRC", "TENDONACTFRC", "FRAMELINACC", "FRAMEANGACC", "TACTILE",
}  # fmt: skip
EQUALITIES = {"CONNECT", "WELD", "JOINT", "TENDON"}
TRANSMISSIONS = {"JOINT", "JOINTINPARENT", "TENDON", "SITE"}
DYNAMICS = {"NONE", "INTEGRATOR", "FILTER", "FILTEREXACT", "MUSCLE"}
GAINS = {"FIXED", "AFFINE", "MUSCLE"}
BIASES = {"NONE", "AFFINE", "MUSCLE"}
INTEGRATORS = {"EULER", "RK4", "IMPLICITFAST"}
SOLVERS = {"CG", "NEWTON"}
ENABLE_FLAGS = {"INVDISCRETE", "SLEEP", "IPC"}

LISTED = 5
"""So many further features fit on the line of a hint."""

NET_FORCE = 3
"""The reduction "netforce" of a contact sensor."""


def refused(model: mujoco.MjModel, spots: ElementLines) -> Iterator[Feature]:
    """What MJX raises on."""
    yield from _options(model, spots.path)
    if model.nflex:
        yield Feature(what="flex and its deformables", line=spots.line("flex", 0))
    yield from _elements(model, spots)
    yield from _contact_sensors(model, spots)
    yield from _collisions(model, spots)


def _options(model: mujoco.MjModel, path: Path | None) -> Iterator[Feature]:
    option = model.opt
    for attribute, kind, value, known in (
        ("integrator", mujoco.mjtIntegrator, option.integrator, INTEGRATORS),
        ("solver", mujoco.mjtSolver, option.solver, SOLVERS),
    ):
        name = _short(kind(value))
        if name not in known:
            # MJCF writes solvers in capitals and integrators in small letters.
            written = name if attribute == "solver" else name.lower()
            yield Feature(what=f'{attribute}="{written}"', line=option_line(path, {attribute: written}))
    for flag in mujoco.mjtEnableBit.__members__.values():
        if flag != mujoco.mjtEnableBit.mjNENABLE and option.enableflags & flag:
            name = _short(flag)
            if name not in ENABLE_FLAGS:
                line = option_line(path, {name.lower(): "enable"}, "flag")
                yield Feature(what=f'flag {name.lower()}="enable"', line=line)
    drag = option.density > 0 or option.viscosity > 0 or option.wind.any()
    if drag and option.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST:
        line = option_line(path, {"integrator": "implicitfast"})
        yield Feature(what='integrator="implicitfast" together with density, viscosity or wind', line=line)


def _elements(model: mujoco.MjModel, spots: ElementLines) -> Iterator[Feature]:
    """One feature for all elements that are refused alike, at the first of them."""
    actuator = "actuator"
    for values, kind, known, element, noun in (
        (model.actuator_trntype, mujoco.mjtTrn, TRANSMISSIONS, actuator, "transmission"),
        (model.actuator_dyntype, mujoco.mjtDyn, DYNAMICS, actuator, "dyntype"),
        (model.actuator_gaintype, mujoco.mjtGain, GAINS, actuator, "gaintype"),
        (model.actuator_biastype, mujoco.mjtBias, BIASES, actuator, "biastype"),
        (model.eq_type, mujoco.mjtEq, EQUALITIES, "equality", "type"),
        (model.sensor_type, mujoco.mjtSensor, SENSORS, "sensor", "type"),
    ):
        alike: dict[str, list[int]] = {}
        for index, value in enumerate(values):
            alike.setdefault(_short(kind(value)), []).append(index)
        for name, indices in alike.items():
            if name not in known:
                yield _feature(spots, element, indices, f"with {noun} {name.lower()}")


def _feature(spots: ElementLines, element: str, indices: list[int], trait: str) -> Feature:
    spot = spots.at(element, indices[0])
    others = f" (and {len(indices) - 1} more)" if len(indices) > 1 else ""
    return Feature(what=f"{spot} {trait}{others}", line=spot.line)


def _contact_sensors(model: mujoco.MjModel, spots: ElementLines) -> Iterator[Feature]:
    kinds = mujoco.mjtObj
    alike: dict[str, list[int]] = {}
    for index in range(model.nsensor):
        if model.sensor_type[index] != mujoco.mjtSensor.mjSENS_CONTACT:
            continue
        sides = {int(model.sensor_objtype[index]), int(model.sensor_reftype[index])}
        if model.sensor_objtype[index] == kinds.mjOBJ_SITE:
            alike.setdefault("that matches contacts by site", []).append(index)
        if sides & {int(kinds.mjOBJ_BODY), int(kinds.mjOBJ_XBODY)}:
            alike.setdefault("that matches contacts by body or subtree", []).append(index)
        if model.sensor_intprm[index, 1] == NET_FORCE:
            alike.setdefault('of contacts with reduce="netforce"', []).append(index)
    for trait, indices in alike.items():
        yield _feature(spots, "sensor", indices, trait)


def _collisions(model: mujoco.MjModel, spots: ElementLines) -> Iterator[Feature]:
    """One feature for each pair of types, at the first geom that brings it in."""
    seen = set()
    for first, second, pair in geom_pairs(model):
        types = GEOM(model.geom_type[first]), GEOM(model.geom_type[second])
        what = _refused_pair(model, types, first, second, pair)
        if what is not None and what not in seen:
            seen.add(what)
            one, other = (spots.at("geom", geom) for geom in (first, second))
            yield Feature(what=f"{what} ({_placed(one)} and {_placed(other)})", line=other.line)


def _placed(spot: SourceLocation) -> str:
    """An element that has no name, with the line by which it can be found."""
    nameless = spot.name.startswith("#") and spot.line is not None
    return f"{spot.element} on line {spot.line}" if nameless else str(spot)


def _refused_pair(
    model: mujoco.MjModel, types: tuple[Any, Any], first: int, second: int, pair: int
) -> str | None:
    words = " and ".join(_short(kind).lower() for kind in types)
    if frozenset(types) not in PAIRS:
        return f"contact between {words}"
    margin = model.pair_margin[pair] if pair >= 0 else model.geom_margin[first] + model.geom_margin[second]
    if margin and WITHOUT_MARGIN & set(types):
        return f"margin between {words}"
    dimension = model.pair_dim[pair] if pair >= 0 else max(model.geom_condim[[first, second]])
    if dimension == 1 and model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC:
        return 'condim="1" under cone="elliptic"'
    return None


def _short(member: object) -> str:
    """The last part of the name of a MuJoCo constant: "PGS" of mjSOL_PGS."""
    name: str = getattr(member, "name", str(member))
    return name.partition("_")[2]


def option_line(path: Path | None, attributes: dict[str, str], element: str = "option") -> int | None:
    """The line in the model's own file on which an option is set."""
    if path is None:
        return None
    found = element_line(path, element, attributes)
    return found[1] if found is not None and found[0] == path else None


@contextlib.contextmanager
def mjx_refusals(model: mujoco.MjModel, argument: str) -> Iterator[None]:
    """Within it, what MJX does not implement becomes an error that names the feature and its line.

    Args:
        model: the compiled model.
        argument: what it was loaded from.

    Raises:
        UnsupportedModelError: MJX raised NotImplementedError.
    """
    try:
        yield
    except NotImplementedError as error:
        features = list(refused(model, ElementLines(model, argument)))
        raise _refusal(argument, str(error), features) from error


def try_mjx(model: mujoco.MjModel, argument: str) -> None:
    """Traces one step in MJX. Imports jax.

    Raises:
        UnsupportedModelError: MJX refuses the model.
    """
    import jax  # noqa: PLC0415 (a command that only inspects does without)
    from mujoco import mjx  # noqa: PLC0415 (brings jax in, and prints)

    with mjx_refusals(model, argument):
        jax.eval_shape(mjx.step, *mjx_pair(model))


def _refusal(argument: str, complaint: str, features: list[Feature]) -> UnsupportedModelError:
    hint = "`jaxdoctor rule unsupported-by-mjx` names common replacements"
    if not features:
        said = re.sub(r"mujoco\.mjt|<|>|: \d+", "", complaint)
        return UnsupportedModelError(f"MJX does not take {argument}: {said}", hint=hint)
    first, *others = features
    line = f", line {first.line}" if first.line is not None else ""
    more = f"; nor does it take {', '.join(other.what for other in others[:LISTED])}" if others else ""
    return UnsupportedModelError(f"MJX does not take {first.what} ({argument}{line})", hint=hint + more)
