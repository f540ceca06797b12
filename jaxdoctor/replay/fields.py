"""The leaves of a state by name, and the floating ones in the order in which a step computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

PIPELINE = (
    # Position
    "xanchor", "xaxis", "xpos", "xquat", "xmat", "xipos", "ximat", "mocap_pos", "mocap_quat",
    "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "cam_xpos", "cam_xmat",
    "subtree_com", "cinert", "cdof", "wrap_xpos", "ten_J", "ten_length",
    "crb", "M", "qM", "qLD", "qLDiagInv",
    "contact.dist", "contact.pos", "contact.frame", "contact.includemargin", "contact.friction",
    "contact.solref", "contact.solreffriction", "contact.solimp",
    "efc_J", "efc_pos", "efc_margin", "efc_frictionloss", "efc_D",
    "actuator_length", "actuator_moment",
    # Velocity
    "actuator_velocity", "ten_velocity", "cvel", "cdof_dot",
    "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive", "efc_aref", "qfrc_bias",
    "subtree_linvel", "subtree_angmom",
    # Actuation, acceleration, constraints
    "act_dot", "actuator_force", "qfrc_actuator", "qfrc_smooth", "qacc_smooth",
    "efc_force", "qacc", "qfrc_constraint", "cacc", "cfrc_int", "cfrc_ext", "qfrc_inverse", "sensordata",
    # Integration
    "qacc_warmstart", "act", "qvel", "qpos", "time",
)  # fmt: skip
"""The fields of a step, earliest first. A field that is not listed counts as computed last."""


def leaf_names(state: Any) -> list[str]:
    """Every leaf's path, joined by dots, in the order of `jax.tree.leaves`."""
    return [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]


def replaced(state: Any, values: Mapping[str, Any]) -> Any:
    """The state with some leaves, called by name, given other values."""
    leaves, structure = jax.tree.flatten(state)
    names = leaf_names(state)
    return jax.tree.unflatten(
        structure, [values.get(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
    )


def picked(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Some leaves by name."""
    by_name = dict(zip(leaf_names(state), jax.tree.leaves(state), strict=True))
    return {name: by_name[name] for name in names}


def floating_leaves(state: Any, pipeline: Sequence[str] = PIPELINE) -> list[tuple[str, Any]]:
    """Every floating leaf with its name, earliest in the pipeline first; empty ones are left out."""
    leaves = [
        (name, leaf)
        for name, leaf in zip(leaf_names(state), jax.tree.leaves(state), strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size
    ]
    position = {name: index for index, name in enumerate(pipeline)}
    return sorted(leaves, key=lambda named: position.get(named[0], len(position)))


def nonfinite(leaf: jax.Array, leading: int) -> jax.Array:
    """Where a leaf holds NaN or infinity, over all but its leading axes."""
    return ~jnp.isfinite(leaf).all(axis=tuple(range(leading, leaf.ndim)))


def nonfinite_fields(state: Any, pipeline: Sequence[str] = PIPELINE, *, leading: int = 1) -> jax.Array:
    """Per replay and leaf, true where a floating leaf of one replay holds NaN or infinity.

    Args:
        state: a pytree whose leaves all have the `leading` axes: lanes and replays.
        pipeline: the order of the leaves.
        leading: how many axes count replays.
    """
    return jnp.stack([nonfinite(leaf, leading) for _, leaf in floating_leaves(state, pipeline)], axis=-1)


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".").removeprefix("_impl.")
