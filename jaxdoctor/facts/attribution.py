"""Which products of a rollout need the bits."""

from __future__ import annotations

from dataclasses import dataclass

FROM = " from "
"""In a place, between the line of a library, which computes many layers, and the line that called it."""

LITTLE = 0.05
"""So much more of the operations a setting may raise than the products that need it."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """A product that must not be rounded as delivered."""

    place: str
    """"mujoco/mjx/_src/support.py:67 (make_m)"."""

    bits: int | None
    """The smallest width that suffices while the set's others are exact; None: it was not found out."""

    explicit: bool
    """It names a precision of its own, which no setting reaches."""

    at_batch_one: bool | None = None
    """Whether a matrix unit computes it in a batch of one too; None: that was not traced."""

    share: float
    """Its part of the operations of all products of a step, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Around:
    """`jax.default_matmul_precision("highest")` around the calls of some functions, and what it reaches."""

    functions: tuple[str, ...]
    """As their callers find them: "mujoco.mjx._src.support:make_m"."""

    beyond: tuple[str, ...] = ()
    """Places of further matrix products that it raises."""

    share: float
    """The part of the operations of all products that become float32 with it, from 0 to 1."""

    finite: bool | None = None
    """Whether the step stayed finite with what it raises exact; None: not tried."""

    @property
    def statements(self) -> tuple[str, ...]:
        """What applies it before the step is traced: the import and the assignment of each function."""
        found: list[str] = []
        for function in self.functions:
            module, name = function.split(":")
            package, _, short = module.rpartition(".")
            callee = f"{short}.{name}"
            found.append(f"from {package} import {short}" if package else f"import {short}")
            found.append(f'{callee} = jax.default_matmul_precision("highest")({callee})')
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """The smallest sets of products that must be exact for what is asked."""

    needs: tuple[Need, ...]
    """The cheapest set that was found; empty with `undecided`: the replays did not tell."""

    others: tuple[tuple[str, ...], ...] = ()
    """Further sets of which each is enough by itself."""

    unique: bool
    """Whether every set that is enough holds this one."""

    replays: int
    """Of each hypothesis."""

    hypotheses: int
    """Rows of replays that the search took."""

    products: int
    """How many products were searched."""

    undecided: str | None = None
    """Why no set is named."""

    bound: float | None = None
    """What is asked: that the one-step error is at most this. None: that the rollout stays finite."""

    cured: bool | None = None
    """Whether the step, rewritten with only these products at `highest`, stayed finite; None: not tried."""

    around: Around | None = None
    """The setting around the calls of some functions instead; None: none does it, or none was looked for."""

    @property
    def share(self) -> float:
        """The part of the operations of all products that become float32, from 0 to 1."""
        return sum(need.share for need in self.needs)

    @property
    def places(self) -> tuple[str, ...]:
        """The file and line of each product that needs the bits; its whole name where layers share a line."""
        return tuple(
            need.place if FROM in need.place else need.place.partition(" (")[0] for need in self.needs
        )

    @property
    def words(self) -> str:
        """Each product that needs the bits, with the width from which on it suffices."""
        return " and ".join(
            need.place if need.bits is None else f"{need.place} from {need.bits} bits on"
            for need in self.needs
        )

    def wrapping(self, function: str) -> str | None:
        """What raises only these products of what was stepped or called; None: it was not seen to help."""
        sites = ", ".join(f'"{place}"' for place in self.places)
        return f"jaxdoctor.remedies.raise_precision({function}, sites=[{sites}])" if self.cured else None

    @property
    def setting(self) -> tuple[str, ...]:
        """What raises them by JAX's setting; empty: it was not seen to help, or raises much more."""
        around = self.around
        little = around is not None and around.finite and around.share <= self.share + LITTLE
        return around.statements if around is not None and little else ()
