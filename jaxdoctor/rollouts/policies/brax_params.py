"""A file of Brax's `save_params`: a pickle of (normaliser, policy) or (normaliser, policy, value).

It is read and never executed. Nothing in it says which activation its network has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.brax_layout import (
    AGENT,
    BODY,
    DEFAULTS,
    HIDDEN,
    MEAN,
    POLICY,
    check_described,
    described,
    is_stated,
    needed,
    stated,
)
from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.read_arrays import insist_on_whole, stored
from jaxdoctor.rollouts.read_pickle import read_pickled
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.pickles.files import looks_pickled

LOADED = "for a network of your own name a function that loads it: --policy module:policy"

VALUE = "2/"
"""Where PPO's third network stands, which SAC's files do not have."""

FIRST = (f"{POLICY}/params/{HIDDEN}0/kernel", f"{POLICY}/params/{BODY}/{HIDDEN}0/kernel")


def _accepts(argument: str | None, network: str | None) -> bool:
    del network
    if argument is None:
        return False
    found = Candidate(Path(argument))
    return found.is_file and looks_pickled(found.head, found.size)


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    assert argument is not None
    if network is not None and not is_stated(network):
        raise UsageError(
            f"{argument} is a pickle, for which --network takes brax:ppo or brax:sac", hint=LOADED
        )
    path, budget = Path(argument), Budget()
    contents = read_pickled(path, budget)
    insist_on_whole(path, contents.faults)
    places = {leaf.path for leaf in contents.leaves}
    if not any(first in places for first in FIRST):
        raise UsageError(
            f"{argument} is a pickle, and none of Brax's save_params: it has no {FIRST[0]}",
            hint=LOADED,
        )
    config = _assumed(argument, places) if network is None else stated(network)
    arrays = stored(needed(contents.leaves), path, budget)
    assumed = f", activation {DEFAULTS['ppo']['activation']} assumed" if network is None else ""
    saved = SavedPolicy(
        kind="brax-params",
        name=f"{argument} (Brax {str(config[AGENT]).upper()}{assumed})",
        arrays={tuple(place.split("/")): array for place, array in arrays.items()},
        config=config,
    )
    check_described(saved)
    return saved


def _assumed(argument: str, places: set[str]) -> dict[str, Any]:
    """Brax's own PPO network, where the file is PPO's."""
    if not any(place.startswith(VALUE) for place in places):
        raise UsageError(
            f"{argument} holds no value network, so nothing says whether it is PPO's or SAC's",
            hint="say --network brax:ppo or --network brax:sac, and the activation where it is another: "
            "--network brax:sac,activation=elu",
        )
    distribution = "normal" if FIRST[1] in places else "tanh_normal"
    logarithmic = f"{POLICY}/params/std_logparam/log_value" in places
    normalises = any(place.startswith("/".join(MEAN)) for place in places)
    return stated(
        f"brax:ppo,distribution_type={distribution},noise_std_type={'log' if logarithmic else 'scalar'},"
        f"normalize_observations={normalises}"
    )


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    del seed
    from jaxdoctor.rollouts.networks.brax_policy import brax_policy

    return brax_policy(saved, described(saved.config, saved.name), sizes, stochastic=stochastic)


KIND = PolicyKind(accepts=_accepts, read=_read, build=_build, check=check_described, order=20)
