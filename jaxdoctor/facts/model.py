"""A compiled model as the rules see it: what was set, and what follows from it at the start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

QPOS0 = "qpos0"
"""The pose of a model that states no start: where its user starts it need not be in the file."""


@dataclass(frozen=True, kw_only=True)
class SourceLocation:
    """One element of the model's file."""

    element: str
    """Its tag, such as "joint"."""

    name: str
    """As written, or "#3" for the fourth of its kind when it has no name."""

    line: int | None = None
    """Where it stands, when the model is one MJCF file."""

    def __str__(self) -> str:
        return f"{self.element} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Feature:
    """Something that MuJoCo has and MJX has not."""

    what: str
    """In the words of the file: 'integrator="implicit"'."""

    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Softness:
    """How a constraint is softened: MuJoCo's solref and solimp."""

    spot: SourceLocation
    solref: tuple[float, float]
    """Time constant and damping ratio, or minus stiffness and minus damping."""

    solimp: tuple[float, ...]

    @property
    def is_direct(self) -> bool:
        """Whether solref gives stiffness and damping instead of a time constant."""
        return self.solref[0] <= 0


@dataclass(frozen=True, kw_only=True)
class Joint:
    """One scalar joint, or one degree of freedom of a ball or free joint."""

    spot: SourceLocation
    armature: float
    inertia: float
    """Its diagonal entry of the mass matrix where the others hold still, in the worst pose."""

    free_inertia: float
    """What is felt when all other joints are free to give way, in the same pose."""

    @property
    def share(self) -> float:
        """The part of its inertia that the mass matrix's factorization has left to divide by."""
        return self.free_inertia / self.inertia if self.inertia > 0 else 0.0


def rounded_up(value: float) -> float:
    """To two digits: 130 of 121."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def rounded_down(value: float) -> float:
    """To two digits: 0.0012 of 0.00129."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit + 1e-9) * unit:.2g}")


@dataclass(frozen=True, kw_only=True)
class Servo:
    """An actuator with feedback on one joint, reduced to that joint."""

    spot: SourceLocation
    number: int = 0
    """Of the actuator, counted from 0."""

    joint: str
    stiffness: float
    explicit_damping: float
    """What the integrator takes from the last velocity."""

    implicit_damping: float
    """What the integrator takes from the next velocity."""

    inertia: float
    """Of the joint while all others are free to give way."""

    def stiffness_ratio(self, timestep: float) -> float:
        """Above 1, semi-implicit Euler makes a swing of this joint alone grow with every step."""
        drives = timestep**2 * self.stiffness + 2 * timestep * self.explicit_damping
        return drives / (4 * self.inertia + 2 * timestep * self.implicit_damping)

    def divisor(self, timestep: float) -> float:
        """By what the servo's gains are to be divided to be half as stiff as the timestep follows."""
        drives = timestep**2 * self.stiffness + 2 * timestep * self.explicit_damping
        return (drives - timestep * self.implicit_damping) / (2 * self.inertia)

    def longest_timestep(self) -> float:
        """The timestep, in seconds, of which the servo is half as stiff as it follows."""
        damping = 2 * self.explicit_damping - self.implicit_damping
        if self.stiffness <= 0:
            return 2 * self.inertia / damping
        root = math.sqrt(damping**2 + 8 * self.stiffness * self.inertia)
        # The other form of the solution of the quadratic equation: this one loses no digits.
        return 4 * self.inertia / (damping + root)


@dataclass(frozen=True, kw_only=True)
class Slippery:
    """Two geoms whose contact is computed with friction, and has next to none."""

    first: SourceLocation
    second: SourceLocation
    friction: float
    """The sliding friction of their contact."""


@dataclass(frozen=True, kw_only=True)
class Distant:
    """The moving body whose place float32 resolves worst, against its size."""

    spot: SourceLocation
    distance: float
    """From the origin, along one axis, in metres."""

    size: float
    """Of its largest geom: the radius of the sphere around it, in metres."""


@dataclass(frozen=True, kw_only=True)
class SelfDriven:
    """An actuator whose force grows with the velocity that it drives, by more than damping takes away."""

    spot: SourceLocation
    target: SourceLocation
    """The joint or tendon."""

    feedback: float
    """Force per velocity, positive along it: N s/m or N m s/rad."""

    damping: float
    """That of the joint or tendon itself, in the same unit."""

    bounded: bool = False
    """Whether a limit of force holds it."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A connect or weld that is active."""

    spot: SourceLocation
    violation: float
    """How far open it is at the start, in metres or radians."""


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Two geoms inside each other where replays start."""

    first: SourceLocation
    second: SourceLocation
    pose: str
    depth: float
    size: float
    """The bounding radius of the smaller one."""

    on_terrain: bool = False
    """One of them is a height field, whose surface differs from place to place."""


@dataclass(frozen=True, kw_only=True)
class LimitViolation:
    """A joint outside its range where replays start."""

    spot: SourceLocation
    pose: str
    value: float
    low: float
    high: float

    @property
    def share(self) -> float:
        """How far outside, as a share of the range."""
        outside = max(self.low - self.value, self.value - self.high)
        return outside / (self.high - self.low) if self.high > self.low else outside


@dataclass(frozen=True, kw_only=True)
class MassMatrix:
    """The mass matrix over several poses, as it is and with the factors of its product rounded."""

    poses: int
    """qpos0, the keyframes, and random poses within the limits."""

    is_matrix_product: bool
    """Whether MJX builds it with a product that a GPU gives to its matrix units."""

    condition: float
    """The largest over the poses, in float64."""

    failures: Mapping[str, tuple[str, ...]]
    """By precision ("tf32", "tf32-truncated", "f32"): the poses in which it is not positive definite."""

    required_bits: int | None
    """The smallest width from which on it is positive definite in every pose; None: float32 is too narrow."""


@dataclass(frozen=True, kw_only=True)
class Hull:
    """The convex hull of a mesh that collides."""

    spot: SourceLocation
    vertices: int


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model, compiled by MuJoCo."""

    path: str
    """The file, or "scenario:hand"."""

    nq: int
    nv: int
    nu: int
    nbody: int
    timestep: float
    integrator: str
    """In the words of the file: "Euler", "implicitfast"."""

    solver: str
    cone: str
    iterations: int
    ls_iterations: int
    tolerance: float
    impratio: float
    disabled: tuple[str, ...] = ()
    """Flags switched off, in the words of the file: "eulerdamp"."""

    constraints: tuple[Softness, ...] = ()
    """Of every limit, equality, friction loss and colliding geom or pair that no flag switches off."""

    joints: tuple[Joint, ...] = ()
    servos: tuple[Servo, ...] = ()
    self_driven: tuple[SelfDriven, ...] = ()
    distant: Distant | None = None
    """None: nothing with a size moves."""

    slippery: tuple[Slippery, ...] = ()
    loops: tuple[Loop, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    limit_violations: tuple[LimitViolation, ...] = ()
    mass_matrix: MassMatrix | None = None
    """None for a model in which nothing moves."""

    depth: int = 0
    """The most hinges and slides on one path from the root to a tip."""

    extent: float = 1.0
    """MuJoCo's measure of the model's size, in metres."""

    contact_pairs: int = 0
    """Pairs of geoms that can touch; none under the flag that disables contacts."""

    contacts_at_start: int = 0
    """Contacts where replays start."""

    max_contact_points: int | None = None
    """MJX's custom numeric: deeper contacts beyond so many are dropped."""

    max_geom_pairs: int | None = None
    """MJX's custom numeric: nearer pairs beyond so many, per kind of pair, are not looked at."""

    hulls: tuple[Hull, ...] = ()
    refused: tuple[Feature, ...] = ()
    """What MJX raises on."""

    ignored: tuple[Feature, ...] = ()
    """What MJX passes over in silence, so that its physics differ from MuJoCo's."""
