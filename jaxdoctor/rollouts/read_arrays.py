"""The arrays of a policy, read whole: by our own readers, in bounded memory, as plain bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.rollouts.brax_layout import is_stated
from jaxdoctor.rollouts.named import NAME
from jaxdoctor.rollouts.saved_policy import StoredArray
from jaxdoctor.storage.budget import Budget

FATAL = ("hostile-content", "truncated-file", "corrupt-data", "missing-file", "unfinished-save")
"""Faults after which a policy is not what was saved: kinds as the rules of integrity are called."""


def insist_on_network(argument: str, network: str | None) -> str:
    """The function that is the network of a tree of weights.

    Raises:
        UsageError: none was named.
    """
    if network is None:
        raise UsageError(
            f"{argument} holds weights, and nothing says which network they are of",
            hint="say --network module:function: a function of (parameters, observation), or one that "
            "returns the flax module",
        )
    if is_stated(network) or not NAME.fullmatch(network):
        raise UsageError(
            f"--network {network} names no function",
            hint="write module:function or file.py:function; brax:ppo is for what Brax has saved",
        )
    return network


def insist_on_whole(path: Path, faults: Sequence[Fault]) -> None:
    """Refuses what is damaged.

    Raises:
        UnreadableError: with the worst of the faults.
    """
    for kind in FATAL:
        for fault in faults:
            if fault.kind == kind:
                raise UnreadableError(
                    f"{path} cannot be replayed: {fault.message}",
                    hint=f"jaxdoctor scan-checkpoint {path} says more; restore an older step",
                )


def stored(leaves: Iterable[Leaf], path: Path, budget: Budget) -> dict[str, StoredArray]:
    """Each leaf's elements by its path in the tree, little-endian and in C order.

    Raises:
        UnreadableError: one cannot be read, or all together are more than may be held.
    """
    found: dict[str, StoredArray] = {}
    held = 0
    for leaf in leaves:
        array = _whole(leaf, path)
        held += len(array.content)
        budget.allow(held, f"the policy {path}")
        found[leaf.path] = array
    return found


def _whole(leaf: Leaf, path: Path) -> StoredArray:
    import numpy as np

    if leaf.values is None and isinstance(leaf.value, bool | int | float):
        values = np.asarray(leaf.value, leaf.dtype)
    elif leaf.values is None:
        raise _unread(leaf, path, leaf.unsupported or "its values are not stored")
    else:
        pieces = list(leaf.values.stream())
        values = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
    if values.size != leaf.size:
        raise _unread(leaf, path, f"{values.size} of its {leaf.size} elements are stored")
    ordered = leaf.values is None or leaf.values.in_order
    if not ordered and not (values == values[:1]).all():
        raise _unread(leaf, path, "it is stored in pieces, not row by row")
    little = values if values.dtype.byteorder != ">" else values.astype(values.dtype.newbyteorder("<"))
    return StoredArray(dtype=leaf.dtype, shape=leaf.shape, content=little.tobytes())


def _unread(leaf: Leaf, path: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        f"{leaf.path} in {path} cannot be read: {reason}",
        hint="save the policy again, from one process, as NumPy arrays",
    )
