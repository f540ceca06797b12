"""The floating leaves of `mjx.Data`, in the order in which a step computes them."""

from __future__ import annotations

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


def floating_leaves(data: Any) -> list[tuple[str, Any]]:
    """Every floating leaf with its name, earliest in the pipeline first; empty ones are left out."""
    leaves = [
        (_name(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(data)
        if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size
    ]
    position = {name: index for index, name in enumerate(PIPELINE)}
    return sorted(leaves, key=lambda named: position.get(named[0], len(position)))


def nonfinite_fields(data: Any) -> jax.Array:
    """Per replay and leaf, true where a floating leaf of one replay holds NaN or infinity."""
    return jnp.stack(
        [~jnp.isfinite(leaf).all(axis=tuple(range(1, leaf.ndim))) for _, leaf in floating_leaves(data)],
        axis=-1,
    )


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".").removeprefix("_impl.")
