"""What can constrain a model, and how softly: only what its flags leave switched on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Softness
from jaxdoctor.models.element_lines import ElementLines

FLAG = mujoco.mjtDisableBit


def is_disabled(model: Any, flag: int) -> bool:
    """Whether constraints of a kind are switched off, alone or with all others."""
    return bool(model.opt.disableflags & (int(flag) | FLAG.mjDSBL_CONSTRAINT))


def constraints(model: Any, spots: ElementLines, pairs: list[tuple[int, int, int]]) -> Iterator[Softness]:
    """The softness of everything that can constrain: limits, equalities, friction loss, contacts.

    Args:
        model: the compiled model.
        spots: where its elements stand.
        pairs: its geoms that can touch, as `jaxdoctor.models.contacts.geom_pairs` gives them.
    """
    for flag, element, indices, solref, solimp in (
        (FLAG.mjDSBL_LIMIT, "joint", np.flatnonzero(model.jnt_limited), model.jnt_solref, model.jnt_solimp),
        (
            FLAG.mjDSBL_LIMIT, "tendon", np.flatnonzero(model.tendon_limited),
            model.tendon_solref_lim, model.tendon_solimp_lim,
        ),
        (
            FLAG.mjDSBL_EQUALITY, "equality", np.flatnonzero(model.eq_active0),
            model.eq_solref, model.eq_solimp,
        ),
        (FLAG.mjDSBL_CONTACT, "geom", _colliding(pairs), model.geom_solref, model.geom_solimp),
        (FLAG.mjDSBL_CONTACT, "pair", range(model.npair), model.pair_solref, model.pair_solimp),
    ):  # fmt: skip
        if not is_disabled(model, flag):
            for index in indices:
                yield _softness(spots, element, int(index), solref[index], solimp[index])
    if not is_disabled(model, FLAG.mjDSBL_FRICTIONLOSS):
        yield from _friction_losses(model, spots)


def _friction_losses(model: Any, spots: ElementLines) -> Iterator[Softness]:
    for dof in np.flatnonzero(model.dof_frictionloss):
        joint = int(model.dof_jntid[dof])
        yield _softness(spots, "joint", joint, model.dof_solref[dof], model.dof_solimp[dof])
    for tendon in np.flatnonzero(model.tendon_frictionloss):
        solref, solimp = model.tendon_solref_fri[tendon], model.tendon_solimp_fri[tendon]
        yield _softness(spots, "tendon", int(tendon), solref, solimp)


def _softness(spots: ElementLines, element: str, index: int, solref: Any, solimp: Any) -> Softness:
    return Softness(
        spot=spots.at(element, index),
        solref=(float(solref[0]), float(solref[1])),
        solimp=tuple(float(value) for value in solimp),
    )


def _colliding(pairs: list[tuple[int, int, int]]) -> list[int]:
    return sorted({geom for first, second, pair in pairs if pair < 0 for geom in (first, second)})
