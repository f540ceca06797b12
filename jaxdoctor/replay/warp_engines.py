"""The two ways to MuJoCo Warp: MJX's own copy of it, and the package `mujoco-warp` where MJX has none."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxdoctor.errors import MissingPackageError, UnsupportedModelError

Array = npt.NDArray[Any]

CARRIED = ("qpos", "qvel", "act", "qacc_warmstart")
WATCHED = ("qacc_smooth", "qfrc_constraint", "qacc", "act", "qvel", "qpos")
"""The fields that are looked at, in the order in which a step computes them."""

FIELDS = tuple(dict.fromkeys((*CARRIED, *WATCHED)))


class WarpEngine(Protocol):
    """One compiled step of a batch."""

    def step(self, state: Mapping[str, Array], ctrl: Array) -> dict[str, Array]:
        """`FIELDS` after one step, each replays x its shape, in float32.

        Args:
            state: `CARRIED` before it.
            ctrl: replays x nu.
        """


def warp_engine(model: Any, batch: int, contacts: int, constraints: int) -> WarpEngine:
    """The Warp that the user runs: MJX's, or else the package's.

    Args:
        model: an `mujoco.MjModel`.
        batch: replays.
        contacts: of one replay, for which room is made.
        constraints: likewise.

    Raises:
        MissingPackageError: neither is installed.
        UnsupportedModelError: Warp does not take the model.
    """
    try:
        return OfMjx(model, batch, contacts, constraints)
    except NotImplementedError as error:
        raise _refusal(error) from error
    except (ImportError, RuntimeError, TypeError) as error:
        # An MJX that is older than its Warp has no `impl`, or names the package that it wants.
        missing = error
    try:
        return OfPackage(model, batch, contacts, constraints)
    except ImportError:
        raise MissingPackageError("'mujoco-mjx[warp]'", sys.executable) from missing
    except (NotImplementedError, ValueError) as error:
        raise _refusal(error) from error


def _refusal(error: Exception) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"MuJoCo Warp does not take the model: {error}", hint="leave --engine warp away"
    )


class OfMjx:
    """MJX's `impl="warp"`, vmapped and jitted as its users have it."""

    def __init__(self, model: Any, batch: int, contacts: int, constraints: int) -> None:
        from mujoco import mjx  # noqa: PLC0415 (prints when it is imported)

        self._model = mjx.put_model(model, impl="warp")
        # Some leaves of Warp's data are the same for all replays, so the blank is not repeated.
        self._blank = mjx.make_data(model, impl="warp", naconmax=contacts * batch, njmax=constraints)
        self._step = jax.jit(jax.vmap(self._advance, in_axes=(None, None, 0, 0)))
        self._mjx = mjx

    def _advance(
        self, model: Any, blank: Any, state: Mapping[str, jax.Array], ctrl: jax.Array
    ) -> dict[str, jax.Array]:
        data = self._mjx.step(model, blank.replace(ctrl=ctrl, **state))
        return {name: getattr(data, name) for name in FIELDS}

    def step(self, state: Mapping[str, Array], ctrl: Array) -> dict[str, Array]:
        """As `WarpEngine` says."""
        given = {name: jnp.asarray(values, jnp.float32) for name, values in state.items()}
        found = self._step(self._model, self._blank, given, jnp.asarray(ctrl, jnp.float32))
        return {name: np.asarray(values) for name, values in found.items()}


class OfPackage:
    """The package `mujoco-warp`, one world a replay."""

    def __init__(self, model: Any, batch: int, contacts: int, constraints: int) -> None:
        mujoco_warp: Any = importlib.import_module("mujoco_warp")
        taken = inspect.signature(mujoco_warp.make_data).parameters
        # Newer releases count the contacts of all worlds together under a name of its own.
        room = {"naconmax": contacts * batch} if "naconmax" in taken else {"nconmax": contacts * batch}
        self._warp = mujoco_warp
        self._model = mujoco_warp.put_model(model)
        self._data = mujoco_warp.make_data(model, nworld=batch, njmax=constraints, **room)

    def step(self, state: Mapping[str, Array], ctrl: Array) -> dict[str, Array]:
        """As `WarpEngine` says."""
        for name, values in (*state.items(), ("ctrl", ctrl)):
            if values.size:
                getattr(self._data, name).assign(np.ascontiguousarray(values, np.float32))
        self._warp.step(self._model, self._data)
        return {name: np.array(getattr(self._data, name).numpy()) for name in FIELDS}
