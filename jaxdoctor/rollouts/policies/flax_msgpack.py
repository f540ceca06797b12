"""A file of Flax's msgpack, with `--network` for the function or module that computes with it."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.read_arrays import insist_on_network, insist_on_whole, stored
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.msgpack.flax_file import is_flax_file


def _accepts(argument: str | None, network: str | None) -> bool:
    del network
    return argument is not None and is_flax_file(Candidate(Path(argument)))


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    assert argument is not None
    network = insist_on_network(argument, network)
    path, budget = Path(argument), Budget()
    tree = flax_tree.read_tree(path, budget)
    insist_on_whole(path, tree.faults)
    leaves = {keys: flax_tree.leaf(keys, value, budget) for keys, value in tree.entries.items()}
    places = {leaf.path: keys for keys, leaf in leaves.items() if leaf is not None}
    arrays = stored((leaf for leaf in leaves.values() if leaf is not None), path, budget)
    return SavedPolicy(
        kind="flax-msgpack",
        name=f"{argument} with {network}",
        arrays={places[place]: array for place, array in arrays.items()},
        network=network,
    )


def _check(saved: SavedPolicy) -> None:
    insist_on_network(saved.name, saved.network)


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    del seed
    from jaxdoctor.rollouts.networks.users_policy import network_policy
    from jaxdoctor.rollouts.networks.weights import nested

    return network_policy(saved, nested(saved.arrays), sizes, stochastic=stochastic)


KIND = PolicyKind(accepts=_accepts, read=_read, build=_build, check=_check, order=30)
