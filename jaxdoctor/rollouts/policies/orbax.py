"""An Orbax checkpoint, with `--network` for the function or module that computes with it."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.read_arrays import insist_on_network, insist_on_whole, stored
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import is_checkpoint


def _accepts(argument: str | None, network: str | None) -> bool:
    del network
    return argument is not None and is_checkpoint(Candidate(Path(argument)))


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    assert argument is not None
    network = insist_on_network(argument, network)
    path, budget = Path(argument), Budget()
    contents = read_checkpoint(path, budget)
    insist_on_whole(path, contents.faults)
    arrays = stored(contents.leaves, path, budget)
    return SavedPolicy(
        kind="orbax",
        name=f"{argument} with {network}",
        arrays={tuple(place.split("/")): array for place, array in arrays.items()},
        network=network,
    )


def _check(saved: SavedPolicy) -> None:
    insist_on_network(saved.name, saved.network)


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    del seed
    from jaxdoctor.rollouts.networks.users_policy import network_policy
    from jaxdoctor.rollouts.networks.weights import listed, nested

    return network_policy(saved, listed(nested(saved.arrays)), sizes, stochastic=stochastic)


KIND = PolicyKind(accepts=_accepts, read=_read, build=_build, check=_check, order=40)
