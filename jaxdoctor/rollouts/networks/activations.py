"""The activations that Brax saves by name: flax's, which are JAX's.

https://github.com/google/brax/blob/main/brax/training/networks.py (`ACTIVATION`)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import UnknownNameError

NAMED_ALIKE = (
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu",
    "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax",
    "softplus", "standardize", "swish",
)  # fmt: skip

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(jax.nn, name) for name in NAMED_ALIKE},
    "linear": lambda values: values,
    "normalize": jax.nn.standardize,
    "tanh": jnp.tanh,
}


def activation(name: str) -> Callable[[Any], Any]:
    """The activation of that name.

    Raises:
        UnknownNameError: Brax saves none of that name.
    """
    if name not in ACTIVATIONS:
        raise UnknownNameError("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
