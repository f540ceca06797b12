"""A random policy: Brax's PPO network as it is before training, by a seed, without a normaliser."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.brax_layout import CHOICE, HIDDEN, POLICY, TANH_NORMAL, BraxNetwork, numbers
from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.saved_policy import Keys, SavedPolicy, StoredArray

WIDTHS = (32,) * 4
"""Brax's hidden layers where nobody says more."""


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    del argument
    if network is not None:
        raise UsageError(f"--network {network} has no weights", hint="say --policy CHECKPOINT too")
    return SavedPolicy(kind="random", name="a random policy")


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    from jaxdoctor.rollouts.networks.brax_policy import brax_policy

    key = _read_key(sizes.observation)
    width = numbers(sizes.observation, key)
    if width is None:
        raise UsageError(
            f"the environment's observations are of {sizes.observation}",
            hint="name a policy for it, as package.module:policy",
        )
    network = BraxNetwork(
        activation="swish",
        normalises=False,
        observation_key=key,
        distribution=CHOICE if sizes.discrete else TANH_NORMAL,
    )
    outputs = sizes.action if sizes.discrete else 2 * sizes.action
    arrays = _weights((width, *WIDTHS, outputs), seed)
    named = replace(saved, name=f"{saved.name} (seed {seed})", arrays=arrays)
    return brax_policy(named, network, sizes, stochastic=stochastic)


def _read_key(size: Any) -> str | None:
    """Of several observations the one that is called state, else the first."""
    if not isinstance(size, dict):
        return None
    return "state" if "state" in size else min(size)


def _weights(widths: tuple[int, ...], seed: int) -> dict[Keys, StoredArray]:
    """Kernels drawn as lecun_uniform draws them, with NumPy, so that every process draws the same."""
    import numpy as np

    generator = np.random.default_rng(seed)
    found: dict[Keys, StoredArray] = {}
    for layer, (taken, given) in enumerate(itertools.pairwise(widths)):
        reach = math.sqrt(3 / taken)
        kernel = generator.uniform(-reach, reach, (taken, given)).astype("<f4")
        for name, values in (("kernel", kernel), ("bias", np.zeros(given, "<f4"))):
            found[POLICY, "params", f"{HIDDEN}{layer}", name] = StoredArray(
                dtype="float32", shape=values.shape, content=values.tobytes()
            )
    return found


KIND = PolicyKind(accepts=lambda argument, _: argument is None, read=_read, build=_build, order=0)
