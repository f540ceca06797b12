"""Which products of a rollout need the bits."""

from __future__ import annotations

from dataclasses import dataclass


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
class Attribution:
    """The smallest sets of products that must be exact for the rollout to stay finite."""

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

    cured: bool | None = None
    """Whether the step, rewritten with only these products at `highest`, stayed finite; None: not tried."""

    @property
    def share(self) -> float:
        """The part of the operations of all products that become float32, from 0 to 1."""
        return sum(need.share for need in self.needs)
