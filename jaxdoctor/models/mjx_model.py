"""A compiled model in MJX's implementation in JAX."""

from __future__ import annotations

import inspect
from typing import Any

import mujoco


def mjx_pair(model: mujoco.MjModel) -> tuple[Any, Any]:
    """The `mjx.Model` and a blank `mjx.Data`. Imports jax.

    The implementation is named: with MJX_GPU_DEFAULT_WARP=true and warp-lang installed, MJX takes Warp's on
    a GPU, which `jax_default_matmul_precision` does not reach.
    """
    from mujoco import mjx  # noqa: PLC0415 (brings jax in, and prints)

    named = _named(mjx)
    return mjx.put_model(model, **named), mjx.make_data(model, **named)


def blank_data(model: Any) -> Any:
    """The `mjx.Data` that an `mjx.Model` begins with: qpos0, at rest. Imports jax."""
    from mujoco import mjx  # noqa: PLC0415 (brings jax in, and prints)

    named = _named(mjx)
    return mjx.make_data(model, **named)


def _named(mjx: Any) -> dict[str, str]:
    # mujoco-mjx 3.3.3 still calls it `backend_impl`.
    known = inspect.signature(mjx.put_model).parameters
    return {"impl" if "impl" in known else "backend_impl": "jax"}
