"""How Brax lays out a policy: what its network's configuration says, and where its arrays stand.

A saved tree is (normaliser, policy, value or critic), so the policy's arrays stand below "1", and the
statistics of observations below "0". Their shapes are held against the configuration before JAX is started.
https://github.com/google/brax/blob/main/brax/training/networks.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxdoctor.errors import UnknownNameError, UnreadableError, UsageError
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.rollouts.saved_policy import Keys, SavedPolicy, StoredArray

NORMALISER, POLICY = "0", "1"
MEAN, STD = (NORMALISER, "mean"), (NORMALISER, "std")

TANH_NORMAL, NORMAL = "tanh_normal", "normal"
DISTRIBUTIONS = (TANH_NORMAL, NORMAL)
CHOICE = "choice"
"""One of several actions, by the largest output: not Brax's, but of random policies for such environments."""

HIDDEN = "hidden_"
"""How Brax calls its dense layers: hidden_0, hidden_1, ..."""

BODY, HEAD, SPREAD = "MLP_0", "Dense_0", "Dense_1"
"""What a network with a standard deviation of its own calls its layers."""

DEFAULTS = {
    "ppo": {"activation": "swish", "policy_obs_key": "state"},
    "sac": {"activation": "relu", "policy_obs_key": ""},
}
"""What Brax's own makers of networks take where nobody says more, by the name of the agent."""

AGENT = "agent"
"""The key under which a configuration has the agent's name: ours, beside Brax's."""

PREFIX = "brax:"
"""How `--network` says a network of Brax's: brax:ppo, brax:sac,activation=elu."""

STATED = (
    "activation", "policy_obs_key", "distribution_type", "noise_std_type", "state_dependent_std",
    "mean_clip_scale", "normalize_observations",
)  # fmt: skip
"""What can be said of it, as Brax calls it."""

SPECIFIED = {"shape", "dtype"}
"""What a trainer of Brax's writes of an observation instead of its size."""

OTHERS = "Brax's networks of dense layers are rebuilt; for any other say --network module:function"


@dataclass(frozen=True, kw_only=True)
class BraxNetwork:
    """A policy's network, as far as its weights do not tell it themselves."""

    activation: str
    normalises: bool = True
    hidden: tuple[int, ...] | None = None
    """None: nothing says how wide its hidden layers are, but for the weights."""

    observation: Any = None
    """The numbers of an observation, a shape, or a dictionary of such. None: only the weights say."""

    action: int | None = None
    observation_key: str | None = None
    """Which of several observations it reads."""

    distribution: str = TANH_NORMAL
    logarithmic: bool = False
    """Whether a standard deviation that is a parameter is stored as its logarithm."""

    state_dependent: bool = False
    """Whether the standard deviation is an output of the network."""

    clip_scale: float | None = None
    """Means are clipped smoothly at this magnitude."""


def is_stated(network: str) -> bool:
    """Whether `--network` says a network of Brax's."""
    return network.startswith(PREFIX)


def stated(network: str) -> dict[str, Any]:
    """The configuration that "brax:ppo,activation=elu" states.

    Raises:
        UsageError: there is no such agent, or nothing of that name can be said.
    """
    agent, *options = network.removeprefix(PREFIX).split(",")
    if agent not in DEFAULTS:
        raise UnknownNameError("network of Brax", agent, DEFAULTS)
    said = {}
    for option in options:
        name, equals, value = option.partition("=")
        if name not in STATED or not equals:
            raise UsageError(
                f"{option!r} in --network {network} says nothing of a network",
                hint=f"write NAME=VALUE with one of {', '.join(STATED)}",
            )
        said[name] = _value(value)
    normalises = said.pop("normalize_observations", True)
    return {AGENT: agent, "normalize_observations": normalises, "network_factory_kwargs": said}


def _value(text: str) -> Any:
    """True and false, numbers, and text."""
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def needed(leaves: Iterable[Leaf]) -> Iterator[Leaf]:
    """Of a saved tree what the policy computes with: no critic, no count."""
    for leaf in leaves:
        keys = tuple(leaf.path.split("/"))
        if keys[:1] == (POLICY,) or keys[:2] in {MEAN, STD}:
            yield leaf


def described(config: Mapping[str, Any], name: str) -> BraxNetwork:
    """The network that a configuration of Brax's `checkpoint.network_config` describes, with its agent.

    Raises:
        UnreadableError: it is no such configuration.
        UsageError: it describes a network that is not rebuilt.
    """
    factory = config.get("network_factory_kwargs", {})
    try:
        return _described(config, {**DEFAULTS[config[AGENT]], **factory}, name)
    except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
        raise UnreadableError(
            f"the network configuration of {name} cannot be meant: {error}",
            hint="copy ppo_network_config.json from the run that saved it",
        ) from error


def _described(config: Mapping[str, Any], factory: Mapping[str, Any], name: str) -> BraxNetwork:
    distribution = str(factory.get("distribution_type", TANH_NORMAL))
    if distribution not in DISTRIBUTIONS:
        raise UsageError(f"{name} draws its actions from {distribution!r}", hint=OTHERS)
    if factory.get("vision") or factory.get("latent_vision") or "cnn_output_channels" in factory:
        raise UsageError(f"the network of {name} reads images", hint=OTHERS)
    hidden = factory.get("policy_hidden_layer_sizes", factory.get("hidden_layer_sizes"))
    clip = factory.get("mean_clip_scale")
    return BraxNetwork(
        activation=str(factory["activation"]),
        normalises=bool(config.get("normalize_observations", True)),
        hidden=None if hidden is None else tuple(int(size) for size in hidden),
        observation=config.get("observation_size"),
        action=None if config.get("action_size") is None else int(config["action_size"]),
        observation_key=str(factory["policy_obs_key"]) or None,
        distribution=distribution,
        logarithmic=factory.get("noise_std_type") == "log",
        state_dependent=bool(factory.get("state_dependent_std", False)),
        clip_scale=None if clip is None else float(clip),
    )


def numbers(size: Any, key: str | None = None) -> int | None:
    """How many numbers an observation of this size has, of several the one of that key; None: not told."""
    if isinstance(size, Mapping):
        if set(size) == SPECIFIED:
            return numbers(size["shape"])
        return numbers(size[key]) if key in size else None
    if isinstance(size, int):
        return size
    if isinstance(size, Sequence) and not isinstance(size, str) and all(isinstance(n, int) for n in size):
        return math.prod(size)
    return None


def statistic(saved: SavedPolicy, place: Keys, key: str | None) -> StoredArray | None:
    """The normaliser's array there, of several observations that of the key; None: it has none."""
    return saved.arrays.get(place) or (None if key is None else saved.arrays.get((*place, key)))


def layers(arrays: Mapping[Keys, StoredArray], network: BraxNetwork) -> list[Keys]:
    """The places of the dense layers from the observation to the actions' means, without those after them."""
    body: Keys = (BODY,) if network.distribution == NORMAL else ()
    found: list[Keys] = []
    while (*body, f"{HIDDEN}{len(found)}", "kernel") in arrays:
        found.append((*body, f"{HIDDEN}{len(found)}"))
    return [*found, (HEAD,)] if network.distribution == NORMAL else found


def check_described(saved: SavedPolicy) -> None:
    """Holds the stored arrays against the policy's own configuration.

    Raises:
        UnreadableError: an array is missing, or the configuration is none.
        UsageError: they are of another network, or of one that is not rebuilt.
    """
    check_arrays(saved, described(saved.config, saved.name))


def check_arrays(saved: SavedPolicy, network: BraxNetwork) -> None:
    """Holds the stored arrays against the configuration.

    Raises:
        UnreadableError: an array is missing.
        UsageError: they are of another network; both are named.
    """
    arrays = saved.below(POLICY, "params")
    places = layers(arrays, network)
    kernels = [arrays.get((*place, "kernel")) for place in places]
    if not places or any(kernel is None or len(kernel.shape) != 2 for kernel in kernels):  # noqa: PLR2004
        raise UsageError(f"{saved.name} holds no policy network of dense layers", hint=OTHERS)
    stored = _widths([kernel.shape for kernel in kernels if kernel is not None])
    expected = _expected(network, stored)
    if stored != expected:
        raise UsageError(
            f"the weights of {saved.name} are a network of {_chain(stored)}, and its configuration "
            f"describes {_chain(expected)}",
            hint="use the network configuration of the run that saved it",
        )
    if network.normalises:
        _check_statistics(saved, network, stored[0])


def _widths(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The numbers between layers. One that does not take what the one before gives is not chained."""
    widths = [shapes[0][0]]
    for taken, given in shapes:
        if taken != widths[-1]:
            widths.append(taken)
        widths.append(given)
    return tuple(widths)


def _expected(network: BraxNetwork, stored: tuple[int, ...]) -> tuple[int, ...]:
    first = numbers(network.observation, network.observation_key)
    outputs = 2 if network.distribution == TANH_NORMAL else 1
    return (
        stored[0] if first is None else first,
        *(stored[1:-1] if network.hidden is None else network.hidden),
        stored[-1] if network.action is None else network.action * outputs,
    )


def _check_statistics(saved: SavedPolicy, network: BraxNetwork, wanted: int) -> None:
    for place in (MEAN, STD):
        found = statistic(saved, place, network.observation_key)
        if found is None:
            raise UnreadableError(
                f"{saved.name} normalises observations and holds no {'/'.join(place)}",
                hint="restore an older step, or the whole folder",
            )
        if found.shape != (wanted,):
            raise UsageError(
                f"the normaliser of {saved.name} is of {_chain(found.shape)} numbers and its network reads "
                f"{wanted}",
                hint="they are of two runs: copy the checkpoint whole",
            )


def _chain(sizes: Sequence[int]) -> str:
    return "-".join(str(size) for size in sizes)
