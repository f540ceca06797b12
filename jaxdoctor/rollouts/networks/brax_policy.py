"""Brax's policy networks, rebuilt from a configuration and stored arrays; Brax need not be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import UsageError
from jaxdoctor.facts.closed_loop import POLICY_SCOPE
from jaxdoctor.rollouts.brax_layout import (
    BODY,
    CHOICE,
    HEAD,
    HIDDEN,
    MEAN,
    NORMAL,
    POLICY,
    SPREAD,
    STD,
    TANH_NORMAL,
    BraxNetwork,
    layers,
    numbers,
    statistic,
)
from jaxdoctor.rollouts.networks.activations import activation
from jaxdoctor.rollouts.networks.distributions import choice, normal, tanh_normal
from jaxdoctor.rollouts.networks.layers import dense, layer_norm
from jaxdoctor.rollouts.networks.weights import loaded, nested, plain
from jaxdoctor.rollouts.policy import Act, Policy, Sizes, Statistics
from jaxdoctor.rollouts.saved_policy import SavedPolicy

TRAINED = "name the environment that it was trained in, with the same options"


def brax_policy(saved: SavedPolicy, network: BraxNetwork, sizes: Sizes, *, stochastic: bool) -> Policy:
    """The policy of a network whose arrays were held against its description.

    Raises:
        UsageError: its sizes are not the environment's.
    """
    _check_sizes(saved, network, sizes)
    parameters: dict[str, Any] = {"network": nested(saved.below(POLICY, "params"))}
    statistics = None
    if network.normalises:
        mean, std = (statistic(saved, place, network.observation_key) for place in (MEAN, STD))
        assert mean is not None
        assert std is not None
        parameters |= {"mean": loaded(mean), "std": loaded(std)}
        statistics = Statistics(mean=plain(mean), std=plain(std))
    return Policy(
        apply=_applied(network, stochastic=stochastic),
        parameters=parameters,
        statistics=statistics,
        name=saved.name,
        observation_size=sizes.observation,
        action_size=sizes.action,
        observation_key=network.observation_key if isinstance(sizes.observation, Mapping) else None,
    )


def _check_sizes(saved: SavedPolicy, network: BraxNetwork, sizes: Sizes) -> None:
    arrays = saved.below(POLICY, "params")
    places = layers(arrays, network)
    wanted = arrays[(*places[0], "kernel")].shape[0]
    given = numbers(sizes.observation, network.observation_key)
    if given is None:
        raise UsageError(
            f"{saved.name} reads the observation {network.observation_key!r}, and the environment gives "
            f"{_listed(sizes.observation)}",
            hint=TRAINED,
        )
    if given != wanted:
        raise UsageError(
            f"{saved.name} reads observations of {wanted} numbers, and the environment's have {given}",
            hint=TRAINED,
        )
    if sizes.discrete != (network.distribution == CHOICE):
        raise UsageError(
            f"{saved.name} gives real numbers, and the environment takes one of {sizes.action} choices",
            hint=TRAINED,
        )
    outputs = int(arrays[(*places[-1], "kernel")].shape[1])
    actions = outputs // 2 if network.distribution == TANH_NORMAL else outputs
    if actions != sizes.action:
        raise UsageError(
            f"{saved.name} gives {actions} actions, and the environment takes {sizes.action}", hint=TRAINED
        )


def _listed(size: Any) -> str:
    return ", ".join(map(repr, size)) if isinstance(size, Mapping) else str(size)


def _applied(network: BraxNetwork, *, stochastic: bool) -> Callable[[Any, Any, Any], Act]:
    activate = activation(network.activation)
    output_of, draw = KINDS[network.distribution]

    def apply(parameters: Any, observation: Any, key: Any) -> Act:
        with jax.named_scope(POLICY_SCOPE):
            values = observation[network.observation_key] if isinstance(observation, Mapping) else observation
            if network.normalises:
                values = (values - parameters["mean"]) / parameters["std"]
            output = output_of(parameters["network"], values, activate, network)
            return Act(values, output, draw(output, key, stochastic=stochastic))

    return apply


def _mlp(weights: Any, values: Any, activate: Any, network: BraxNetwork) -> Any:
    """Brax's `MLP`: the last layer's output is not activated."""
    del network
    return _chained(weights, values, activate, final=False)


def _with_std(weights: Any, values: Any, activate: Any, network: BraxNetwork) -> Any:
    """Brax's `PolicyModuleWithStd`, its two outputs in one row."""
    hidden = _chained(weights[BODY], values, activate, final=True)
    with jax.named_scope("mean"):
        mean = dense(weights[HEAD], hidden)
    if network.clip_scale is not None:
        mean = network.clip_scale * (mean / (1.0 + jnp.abs(mean)))
    if network.state_dependent:
        with jax.named_scope("std"):
            std = dense(weights[SPREAD], hidden)
        std = jnp.exp(std) if network.logarithmic else std
    elif network.logarithmic:
        std = jnp.exp(weights["std_logparam"]["log_value"])
    else:
        std = weights["std_param"]["value"]
    return jnp.concatenate([mean, jnp.broadcast_to(std, mean.shape)], axis=-1)


def _chained(weights: Any, values: Any, activate: Any, *, final: bool) -> Any:
    """Dense layers one after the other, with LayerNorm behind the activation where there are such weights."""
    count = sum(name.startswith(HIDDEN) for name in weights)
    for index in range(count):
        with jax.named_scope(f"{HIDDEN}{index}"):
            values = dense(weights[f"{HIDDEN}{index}"], values)
        if index < count - 1 or final:
            values = activate(values)
            norm = weights.get(f"LayerNorm_{index}")
            values = values if norm is None else layer_norm(norm, values)
    return values


KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    TANH_NORMAL: (_mlp, tanh_normal),
    NORMAL: (_with_std, normal),
    CHOICE: (_mlp, choice),
}
"""How each distribution's parameters are computed, and how an action comes of them."""
