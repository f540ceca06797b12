"""Traces an update again and again on its own output's types, until they stay as they are."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxdoctor.errors import UsageError
from jaxdoctor.updates.trace.parts import Place, at, layout, matched
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

    place: Place
    """(): all of it."""

    layout: tuple[Place, ...] = ((),)
    """The places of all parts."""

    def split(self, returned: Any) -> tuple[Any, Any]:
        """The state, and the rest."""
        return at(returned, self.place), tuple(
            at(returned, each) for each in self.layout if each != self.place
        )


@dataclass(frozen=True, kw_only=True)
class Course:
    """What became of the state's types, call after call."""

    subject: Traced
    """What was traced, with all parts of its state in one."""

    rounds: tuple[Round, ...]
    pick: Pick
    settled: int | None
    """Calls until nothing changes any more; None: it never settles."""

    failure: Exception | None = None
    """What a later call raises."""


def settle(subject: Traced) -> Course:
    """Traces until the types of what comes out are those of what went in."""
    pick = None if subject.index is None else _fixed(subject.index)
    first, pick, parts = trace(subject, abstract(subject.state), abstract(subject.args), pick)
    if len(parts) > 1:
        subject = joined(subject, pick, parts)
        first, pick, _ = trace(subject, abstract(subject.state), abstract(subject.args), _fixed(0))
    return _followed(subject, first, pick)


def _fixed(index: int) -> Pick:
    """The state at a known index of a pair."""
    return Pick((index,), ((0,), (1,)))


def _followed(subject: Traced, first: Round, pick: Pick) -> Course:
    rounds, seen, failure = [first], {first.before.key}, None
    arguments = abstract(subject.args)
    while rounds[-1].after.key not in seen and len(rounds) <= MOST_ROUNDS:
        seen.add(rounds[-1].after.key)
        try:
            rounds.append(trace(subject, rounds[-1].after, arguments, pick)[0])
        except Exception as error:  # noqa: BLE001 (whatever the later call of the user's code raises)
            failure = error
            break
    stays = rounds[-1].after.key == rounds[-1].before.key
    settled = len(rounds) - 1 if stays and failure is None else None
    return Course(subject=subject, rounds=tuple(rounds), pick=pick, settled=settled, failure=failure)


def trace(
    subject: Traced, state: Abstract, arguments: Abstract, pick: Pick | None = None
) -> tuple[Round, Pick, Mapping[int, int]]:
    """One call with abstract arrays.

    Returns:
        The call; which part of what it returned is the state; for every argument that comes back, the state's
        being 0, the index of its part. Without arguments, or with a known state, nobody looks for such.
    """
    count = len(state.arrays)
    seen: list[tuple[Abstract, Abstract, Pick, Mapping[int, int]]] = []

    def flat(*arrays: Any) -> tuple[list[Any], list[Any]]:
        rest = arguments.rebuild(arrays[count:])
        returned = subject.update(state.rebuild(arrays[:count]), *rest, **subject.keywords)
        chosen = pick or choose(returned, state, [abstract(each) for each in rest])
        parts = _parts(subject, returned, state, rest, chosen) if pick is None else {}
        new, others = chosen.split(returned)
        seen.append((abstract(new), abstract(others), chosen, parts))
        return arrays_of(new), arrays_of(others)

    closed = jax.make_jaxpr(flat)(*state.arrays, *arguments.arrays)
    after, others, chosen, parts = seen[-1]
    return Round(before=state, after=after, rest=others, closed=closed), chosen, parts


def _parts(
    subject: Traced, returned: Any, state: Abstract, rest: Sequence[Any], pick: Pick
) -> Mapping[int, int]:
    if not pick.place or not rest:
        return {}
    names = subject.names or tuple("" for _ in range(1 + len(rest)))
    returns = [abstract(at(returned, place)) for place in pick.layout]
    known = {0: pick.layout.index(pick.place)}
    return matched(returns, [state, *(abstract(each) for each in rest)], names, known)


def joined(subject: Traced, pick: Pick, parts: Mapping[int, int]) -> Traced:
    """The same update with all that comes back in one state: several parts by their arguments' names."""
    takes = {index: functools.partial(at, place=pick.layout[part]) for index, part in parts.items()}
    left = [place for index, place in enumerate(pick.layout) if index not in parts.values()]
    return together(subject, takes, lambda returned: tuple(at(returned, place) for place in left))


def together(
    subject: Traced, takes: Mapping[int, Callable[[Any], Any]], left: Callable[[Any], tuple[Any, ...]]
) -> Traced:
    """The same update with several arguments as its state.

    Args:
        subject: what was called.
        takes: of every argument that comes back, how it is taken from what the update returned.
        left: what else it returned.
    """
    arguments = [subject.state, *subject.args]
    names = subject.names or tuple(f"argument {index}" for index in range(len(arguments)))
    order = sorted(takes)
    others = [index for index in range(len(arguments)) if index not in takes]
    single = len(order) == 1

    def one(values: Mapping[int, Any]) -> Any:
        return values[order[0]] if single else OrderedDict((names[index], values[index]) for index in order)

    def update(state: Any, *rest: Any, **keywords: Any) -> tuple[Any, Any]:
        given = dict(zip(others, rest, strict=True))
        given |= {index: state if single else state[names[index]] for index in order}
        returned = subject.update(*(given[index] for index in range(len(arguments))), **keywords)
        return one({index: takes[index](returned) for index in order}), left(returned)

    return replace(
        subject,
        update=update,
        state=one(dict(enumerate(arguments))),
        args=tuple(arguments[index] for index in others),
        names=("state", *(names[index] for index in others)),
        parts=tuple(names[index] for index in order),
        index=0,
    )


def choose(returned: Any, state: Abstract, arguments: Sequence[Abstract] = ()) -> Pick:
    """The part of the output that is most like the state: all of it, or the first like part of a tuple.

    Raises:
        UsageError: nothing in it is like the state.
    """
    whole = abstract(returned)
    if whole.structure == state.structure:
        return Pick(())
    places = layout(returned, [state.structure, *(each.structure for each in arguments)])
    parts = [abstract(at(returned, place)) for place in places] if places != ((),) else []
    alike = [likeness(part, state) for part in parts]
    best = max(alike, default=(0, 0.0))
    own = likeness(whole, state)
    if best > (0, 0.0) and best >= own:
        return Pick(places[alike.index(best)], places)
    if own > (0, 0.0):
        return Pick(())
    raise UsageError(
        "nothing that the update returns is like the state that it takes",
        hint="return the next state, alone or first of a tuple",
    )


def likeness(part: Abstract, state: Abstract) -> tuple[int, float]:
    """Whether the structures are one; then the share of common leaves, by path and by shape."""
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
            returned = subject.update(full, *arguments.rebuild(arrays), **subject.keywords)
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
