"""A checkpoint folder of Brax's PPO or SAC, as Playground saves it too: Orbax and the network's config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.brax_layout import (
    AGENT,
    DEFAULTS,
    check_described,
    described,
    is_stated,
    needed,
    stated,
)
from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.read_arrays import insist_on_whole, stored
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.json_text import read_object
from jaxdoctor.storage.orbax.brax import CONFIG, LARGEST_CONFIG, is_brax
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import names


def _accepts(argument: str | None, network: str | None) -> bool:
    if argument is None or not (network is None or is_stated(network)):
        return False
    return is_brax(Candidate(Path(argument)))


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    assert argument is not None
    path, budget = Path(argument), Budget()
    config = _config(path, budget) if network is None else stated(network)
    contents = read_checkpoint(path, budget)
    insist_on_whole(path, contents.faults)
    arrays = stored(needed(contents.leaves), path, budget)
    name = f"{argument} (Brax {str(config[AGENT]).upper()})"
    saved = SavedPolicy(
        kind="brax-checkpoint",
        name=name,
        arrays={tuple(place.split("/")): array for place, array in arrays.items()},
        config=config,
    )
    check_described(saved)
    return saved


def _config(path: Path, budget: Budget) -> dict[str, Any]:
    """What `ppo_network_config.json` or `sac_network_config.json` holds, with the agent's name."""
    for agent in DEFAULTS:
        if (path / f"{agent}{CONFIG}").is_file():
            found = read_object(path / f"{agent}{CONFIG}", budget, root=path, limit=LARGEST_CONFIG)
            return {**found, AGENT: agent}
    other = next((name for name in names(path) if name.endswith(CONFIG)), None)
    if other is not None:
        raise UsageError(
            f"{path} was saved with {other}, and networks of {' and '.join(DEFAULTS)} are rebuilt",
            hint="say --network module:function, with the function that is the network",
        )
    raise UsageError(
        f"{path} has no network configuration, so nothing says which activation its network has",
        hint="copy ppo_network_config.json from the run, or say what it is: --network brax:ppo, or "
        "--network brax:ppo,activation=elu",
    )


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    del seed
    from jaxdoctor.rollouts.networks.brax_policy import brax_policy

    return brax_policy(saved, described(saved.config, saved.name), sizes, stochastic=stochastic)


KIND = PolicyKind(accepts=_accepts, read=_read, build=_build, check=check_described, order=10)
