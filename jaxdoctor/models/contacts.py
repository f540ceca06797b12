"""Which geoms of a model can touch: what MuJoCo's filters leave, in MJX's order of types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mujoco
import numpy as np

# Planes are type 0 and height fields type 1: a plane touches neither a plane nor a height field.
HFIELD = int(mujoco.mjtGeom.mjGEOM_HFIELD)


def geom_pairs(model: Any) -> Iterator[tuple[int, int, int]]:
    """First geom, second geom and the number of their `<pair>`, or -1; the first has the lower type."""
    explicit = set()
    for pair in range(model.npair):
        ordered = _ordered(model, int(model.pair_geom1[pair]), int(model.pair_geom2[pair]))
        explicit.add(ordered)
        yield *ordered, pair
    candidates = np.flatnonzero(model.geom_contype | model.geom_conaffinity)
    parents = model.body_weldid[model.body_parentid[model.body_weldid]]
    for position, one in enumerate(candidates[:-1]):
        others = candidates[position + 1 :]
        for other in others[_may_touch(model, parents, one, others)]:
            ordered = _ordered(model, int(one), int(other))
            if ordered not in explicit:
                yield *ordered, -1


LEAST_FRICTION = 1e-3
"""Sliding friction below it is meant as none: polished ice has 0.02."""


def without_friction(model: Any, pairs: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, float]]:
    """Pairs whose contact has a dimension for friction and next to no friction, with how much.

    Args:
        model: the compiled model.
        pairs: as `geom_pairs` gives them.
    """
    for first, second, pair in pairs:
        if pair >= 0:
            dimension, friction = model.pair_dim[pair], model.pair_friction[pair, 0]
        else:
            higher = int(np.sign(model.geom_priority[first] - model.geom_priority[second]))
            # Of two geoms alike in priority the larger value counts, else that of the one that has it.
            geoms = {1: [first], -1: [second], 0: [first, second]}[higher]
            dimension = model.geom_condim[geoms].max()
            friction = model.geom_friction[geoms, 0].max()
        if dimension > 1 and friction < LEAST_FRICTION:
            yield first, second, float(friction)


def _ordered(model: Any, one: int, other: int) -> tuple[int, int]:
    return (one, other) if model.geom_type[one] <= model.geom_type[other] else (other, one)


def _may_touch(model: Any, parents: Any, one: Any, others: Any) -> Any:
    """Which of `others` the geom `one` may touch."""
    here, there = model.geom_bodyid[one], model.geom_bodyid[others]
    weld, welds = model.body_weldid[here], model.body_weldid[there]
    masks = (model.geom_contype[one] & model.geom_conaffinity[others]) | (
        model.geom_contype[others] & model.geom_conaffinity[one]
    )
    related = (weld != 0) & (welds != 0) & ((weld == parents[there]) | (welds == parents[here]))
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        related = np.zeros_like(related)
    still = (model.geom_type[others] <= HFIELD) & (model.geom_type[one] <= HFIELD)
    both_fields = (model.geom_type[others] == HFIELD) & (model.geom_type[one] == HFIELD)
    signatures = (np.minimum(here, there) << 16) + np.maximum(here, there)
    excluded = np.isin(signatures, model.exclude_signature)
    return (masks != 0) & (weld != welds) & ~related & ~(still & ~both_fields) & ~excluded
