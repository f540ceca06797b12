"""Which arguments of a call are what an earlier call returned: the same arrays, or most of their values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.updates.trace.parts import Place, at

MOST_COMPARED = 1024
"""Elements of an array that are kept, to be compared with another."""

MOST_SAMPLES = 64
"""Arrays of what was returned of which so many elements are kept."""

MOST_ALIKE = 0.5
"""The share of equal elements from which on an array is taken for one that was changed on the host."""

Key = int | str
"""An argument: its position or its keyword."""


@dataclass(frozen=True)
class Fed:
    """How an argument is made of what the call before it returned."""

    place: Place | None
    """Where it stands in that; None: it was put together from several parts."""

    leaves: tuple[int | None, ...] = ()
    """Of what was put together: for each of its leaves that of what was returned; None: it is no array."""

    def take(self, returned: Any, argument: Any) -> Any:
        """The argument of the next call.

        Args:
            returned: what this one returned.
            argument: the same argument of this call, for what is no array.
        """
        if self.place is not None:
            return at(returned, self.place)
        own, structure = jax.tree.flatten(argument)
        new = jax.tree.leaves(returned)
        picked = [old if index is None else new[index] for old, index in zip(own, self.leaves, strict=True)]
        return jax.tree.unflatten(structure, picked)


@dataclass
class Returned:
    """What the last call of one function returned, by weak references: nothing is kept alive."""

    paths: list[tuple[Any, ...]]
    arrays: list[Callable[[], Any]]
    samples: dict[int, Any]
    """The first elements of some of them."""

    used: set[int] = field(default_factory=set)
    """Leaves that were given to another call since."""


class Flow:
    """The arrays that the recorded calls returned, and where they went."""

    def __init__(self) -> None:
        self._last: dict[Any, Returned] = {}
        self._owners: dict[int, tuple[Any, int]] = {}

    def returned(self, key: Any, out: Any) -> None:
        """Notes what the function of this key has just returned."""
        pairs, _ = jax.tree_util.tree_flatten_with_path(out)
        samples = {index: _sample(leaf) for index, (_, leaf) in enumerate(pairs[:MOST_SAMPLES])}
        last = Returned([path for path, _ in pairs], [_reference(leaf) for _, leaf in pairs], samples)
        self._last[key] = last
        self._owners |= {id(leaf): (key, index) for index, (_, leaf) in enumerate(pairs) if _is_array(leaf)}

    def given(self, arguments: Mapping[Key, Any]) -> None:
        """Notes what is given to any function."""
        for leaf in jax.tree.leaves(list(arguments.values())):
            owner = self._owner(leaf)
            if owner is not None:
                self._last[owner[0]].used.add(owner[1])

    def fed(self, key: Any, arguments: Mapping[Key, Any]) -> dict[Key, Fed]:
        """The arguments that are what the last call of the same function returned."""
        last = self._last.get(key)
        if last is None:
            return {}
        found = {name: self._of(key, last, value) for name, value in arguments.items()}
        return {name: fed for name, fed in found.items() if fed is not None}

    def contradicts(self, key: Any, argument: Any, place: Place) -> bool:
        """Whether an argument is seen to be something else than what was returned at a place."""
        last = self._last.get(key)
        if last is None:
            return False
        before = [index for index, path in enumerate(last.paths) if _plain(path[: len(place)]) == place]
        if any(index in last.used for index in before):
            return False
        pairs = [
            (_sample(leaf), last.samples.get(index))
            for leaf, index in zip(jax.tree.leaves(argument), before, strict=False)
        ]
        known = [_share(one, other) for one, other in pairs if one is not None and other is not None]
        return bool(known) and sum(known) < MOST_ALIKE * len(known)

    def _owner(self, leaf: Any) -> tuple[Any, int] | None:
        owner = self._owners.get(id(leaf))
        if owner is None:
            return None
        last = self._last[owner[0]]
        # The number may be another object's by now.
        same = owner[1] < len(last.arrays) and last.arrays[owner[1]]() is leaf
        return owner if same else None

    def _of(self, key: Any, last: Returned, argument: Any) -> Fed | None:
        pairs, _ = jax.tree_util.tree_flatten_with_path(argument)
        owners = [self._owner(leaf) for _, leaf in pairs]
        places = [owner[1] if owner is not None and owner[0] == key else None for owner in owners]
        known = [(path, place) for (path, _), place in zip(pairs, places, strict=True) if place is not None]
        if not known:
            return None
        arrays = [_is_array(leaf) for _, leaf in pairs]
        starts = {_start(last.paths[place], path) for path, place in known}
        start = next(iter(starts))
        if len(starts) == 1 and start is not None:
            inside = [path for path in last.paths if path[: len(start)] == start]
            plain = _plain(start)
            same = [path[len(start) :] for path in inside] == [path for path, _ in pairs]
            if plain is not None and (same or 2 * len(known) >= sum(arrays)):
                return Fed(plain)
        if all(place is not None for place, is_one in zip(places, arrays, strict=True) if is_one):
            return Fed(None, tuple(places))
        return None


def _start(path: tuple[Any, ...], own: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What stands in a path before the path inside the argument; None where it does not end with that."""
    cut = len(path) - len(own)
    return path[:cut] if cut >= 0 and path[cut:] == own else None


def _plain(path: Sequence[Any]) -> Place | None:
    """Indices, keys and names, as `at` takes them; None where the path has none."""
    found: list[Any] = []
    for key in path:
        if isinstance(key, jax.tree_util.SequenceKey):
            found.append(key.idx)
        elif isinstance(key, jax.tree_util.DictKey):
            found.append(key.key)
        elif isinstance(key, jax.tree_util.GetAttrKey):
            found.append(key.name)
        else:
            return None
    return tuple(found)


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def _reference(leaf: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(leaf)
    except TypeError:
        return _nothing


def _nothing() -> None:
    return None


def _sample(leaf: Any) -> Any:
    """The first elements of an array; None of what has no numbers."""
    try:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
            return None
        return np.array(np.asarray(leaf).reshape(-1)[:MOST_COMPARED])
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _share(one: Any, other: Any) -> float:
    """Of the elements of two samples the share that is equal."""
    return float(np.mean(one == other)) if one.shape == other.shape and one.size else 0.0


def arguments_of(args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[Key, Any]:
    """The arguments of a call by position and by keyword."""
    found: dict[Key, Any] = dict(enumerate(args))
    found.update(keywords)
    return found


@dataclass(frozen=True)
class Seen:
    """What was seen of the arguments of one call."""

    fed: Mapping[Key, Fed]
    """Those that the call before it had returned."""

    against: Callable[[Key, Place], bool]
    """Whether an argument is seen to be something else than what stands at a place of what was returned."""
