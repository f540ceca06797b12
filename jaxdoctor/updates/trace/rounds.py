"""Traces an update again and again on its own output's types, until they stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxdoctor.errors import UsageError
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, abstract, arrays_of

MOST_ROUNDS = 8
"""Whatever has not settled by then grows or alternates."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One trace."""

    before: Abstract
    after: Abstract
    rest: Abstract
    """Whatever the update returns beside the state."""

    closed: Any
    """The ClosedJaxpr: the state's arrays and the arguments' go in, the state's and the rest come out."""


@dataclass(frozen=True)
class Pick:
    """Which part of what an update returns is the next state."""

    index: int | None
    """None: all of it."""

    def split(self, returned: Any) -> tuple[Any, Any]:
        """The state, and the rest."""
        if self.index is None:
            return returned, ()
        parts = list(returned)
        return parts.pop(self.index), tuple(parts)


@dataclass(frozen=True, kw_only=True)
class Course:
    """What became of the state's types, call after call."""

    rounds: tuple[Round, ...]
    pick: Pick
    settled: int | None
    """Calls until nothing changes any more; None: it never settles."""

    failure: str | None = None
    """Why a later trace failed."""


def settle(subject: Traced) -> Course:
    """Traces until the types of what comes out are those of what went in."""
    state, arguments = abstract(subject.state), abstract(subject.args)
    rounds: list[Round] = []
    pick = None if subject.index is None else Pick(subject.index)
    seen = {state.key}
    while len(rounds) <= MOST_ROUNDS:
        try:
            done, pick = trace(subject, state, arguments, pick)
        except Exception as error:
            if not rounds:
                raise
            assert pick is not None
            return Course(rounds=tuple(rounds), pick=pick, settled=None, failure=str(error).strip())
        rounds.append(done)
        if done.after.key == done.before.key:
            return Course(rounds=tuple(rounds), pick=pick, settled=len(rounds) - 1)
        if done.after.key in seen:
            break
        seen.add(done.after.key)
        state = done.after
    assert pick is not None
    return Course(rounds=tuple(rounds), pick=pick, settled=None)


def trace(
    subject: Traced, state: Abstract, arguments: Abstract, pick: Pick | None = None
) -> tuple[Round, Pick]:
    """One call with abstract arrays."""
    count = len(state.arrays)
    seen: list[tuple[Abstract, Abstract, Pick]] = []

    def flat(*arrays: Any) -> tuple[list[Any], list[Any]]:
        returned = subject.update(state.rebuild(arrays[:count]), *arguments.rebuild(arrays[count:]))
        chosen = pick or choose(returned, state)
        new, rest = chosen.split(returned)
        seen.append((abstract(new), abstract(rest), chosen))
        return arrays_of(new), arrays_of(rest)

    closed = jax.make_jaxpr(flat)(*state.arrays, *arguments.arrays)
    after, rest, chosen = seen[-1]
    return Round(before=state, after=after, rest=rest, closed=closed), chosen


def choose(returned: Any, state: Abstract) -> Pick:
    """The part of the output that is most like the state: all of it, or the first like part of a tuple.

    Raises:
        UsageError: nothing in it is like the state.
    """
    whole = abstract(returned)
    if whole.structure == state.structure:
        return Pick(None)
    parts = [abstract(part) for part in returned] if isinstance(returned, (tuple, list)) else []
    alike = [_likeness(part, state) for part in parts]
    best = max(alike, default=(0, 0.0))
    own = _likeness(whole, state)
    if best > (0, 0.0) and best >= own:
        return Pick(alike.index(best))
    if own > (0, 0.0):
        return Pick(None)
    raise UsageError(
        "nothing that the update returns is like the state that it takes",
        hint="return the next state, alone or first of a tuple",
    )


def _likeness(part: Abstract, state: Abstract) -> tuple[int, float]:
    """First whether the structures are one, then the share of common leaves, by path, and by shape."""
    same = int(part.structure == state.structure)
    common = set(part.paths) & set(state.paths)
    shapes = sum(_shapes(part, path) == _shapes(state, path) for path in common)
    leaves = max(len(set(part.paths) | set(state.paths)), 1)
    return same, (len(common) + shapes) / (2 * leaves)


def _shapes(tree: Abstract, path: str) -> Any:
    return getattr(tree.leaves[tree.paths.index(path)], "shape", None)


def loop_error(subject: Traced, first: Round, pick: Pick) -> str | None:
    """What `jax.lax.scan` over the update says; None: it accepts it."""
    state, arguments = first.before, abstract(subject.args)
    whole = len(state.arrays) == len(state.leaves)
    named = state.rebuild(state.arrays) if whole else dict(zip(state.array_paths, state.arrays, strict=True))

    def loop(carry: Any, *arrays: Any) -> Any:
        def body(carry: Any, _: None) -> tuple[Any, None]:
            full = carry if whole else state.rebuild(carry[path] for path in state.array_paths)
            returned = subject.update(full, *arguments.rebuild(arrays))
            new, _rest = pick.split(returned)
            return (new if whole else _named(new)), None

        return jax.lax.scan(body, carry, None, length=2)[0]

    try:
        jax.eval_shape(loop, named, *arguments.arrays)
    except Exception as error:  # noqa: BLE001 (the message is what is asked for, whatever its type)
        return str(error).strip()
    return None


def _named(tree: Any) -> dict[str, Any]:
    kept: Sequence[Any] = arrays_of(tree)
    return dict(zip(abstract(tree).array_paths, kept, strict=True))
