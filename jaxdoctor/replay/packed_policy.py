"""A policy on its way into a bundle and out of one: plain values, and never code."""

from __future__ import annotations

from jaxdoctor.bundles.bundle import PackedArray, PackedPolicy
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.rollouts.policy import POLICIES
from jaxdoctor.rollouts.saved_policy import SavedPolicy, StoredArray


def packed(saved: SavedPolicy) -> PackedPolicy:
    """What a bundle holds of it: of one that is code only the name, and that it is code."""
    return PackedPolicy(
        kind=saved.kind,
        name=saved.name,
        network=saved.network,
        config=saved.config,
        arrays={
            keys: PackedArray(dtype=array.dtype, shape=array.shape, content=array.content)
            for keys, array in saved.arrays.items()
        },
        left_out=None if saved.arrays else f"{saved.name} is code",
    )


def unpacked(policy: PackedPolicy, network: str | None) -> SavedPolicy:
    """The policy of a bundle, held against its own description as one from a checkpoint is.

    Args:
        policy: has its arrays.
        network: the function that is its network, as the user names it.

    Raises:
        UsageError: its network is code, and the user has not named it; or there is nothing to name.
        UnreadableError: its kind is not known, or its arrays are not what it describes.
    """
    check = POLICIES.load(policy.kind).check if policy.kind in POLICIES.names() else None
    if check is None:
        raise UnreadableError(
            f"the bundle holds a policy of the kind {policy.kind!r}, which is not read from a bundle",
            hint="name the policy with --policy, or use a newer jaxdoctor",
        )
    if policy.network is not None and network is None:
        raise UsageError(
            f"the bundle holds the weights of {policy.name}, and the network {policy.network} is code and "
            "not in it",
            hint=f"if you trust that code, name it: --network {policy.network}",
        )
    if policy.network is None and network is not None:
        raise UsageError(
            f"the bundle says itself which network {policy.name} is",
            hint="leave --network out, or name another policy with --policy too",
        )
    saved = SavedPolicy(
        kind=policy.kind,
        name=policy.name,
        arrays={
            keys: StoredArray(dtype=array.dtype, shape=array.shape, content=array.content)
            for keys, array in policy.arrays.items()
        },
        config=policy.config,
        network=network,
    )
    check(saved)
    return saved
