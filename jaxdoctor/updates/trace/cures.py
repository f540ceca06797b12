"""Cures of a state that drifts, each applied to the traced update and traced again before it is offered."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Change, Cure, LeafSignature, SourceLine
from jaxdoctor.updates.trace.abstract_values import Known, Meaning
from jaxdoctor.updates.trace.rounds import Course, Pick, settle
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, Typed, abstract, changed

MOST_SECONDS = 20.0
"""Spent on trials of one update. Cures that are left then are not offered."""

KEYS = "key<"
"""How the dtype of a typed random key begins."""

FOLLOWS = "it rests once the leaf that drifts before it is cured"

START = "\0"
"""Stands in a cure for the number that a leaf begins with, which is known only when all is traced."""

SURELY_NOT_ONE = 0.05
"""A factor that is so far from 1 loses less than a tenth of that in bfloat16."""

STANDS_STILL = "a {dtype} average whose decay is above 0.996 stands still"


@dataclass(frozen=True)
class Edit:
    """What a cure changes."""

    made: Mapping[str, Any] = field(default_factory=dict)
    """Leaves of the state that begin with another type."""

    cast: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Leaves of the next state that are converted before it is returned."""

    whole: Abstract | None = None
    """Another state altogether."""

    def and_(self, other: Edit) -> Edit:
        """Both."""
        return Edit({**self.made, **other.made}, {**self.cast, **other.cast}, other.whole or self.whole)


@dataclass(frozen=True)
class Candidate:
    """A cure that has not been tried."""

    text: str
    edit: Edit
    followers: frozenset[str] = frozenset()
    """Leaves of the group that rest without a cure of their own."""


def cured(
    course: Course, leaves: Sequence[LeafSignature], *, is_transform: bool
) -> tuple[LeafSignature, ...]:
    """The leaves with the cures that work, leaf by leaf of one cause together.

    Args:
        course: what the tracing found.
        leaves: the state's leaves with what becomes of them.
        is_transform: the update is a gradient transformation, nothing but an optimizer.
    """
    drifting = [leaf for leaf in leaves if leaf.change is not None]
    if not drifting:
        return tuple(leaves)
    until = time.perf_counter() + MOST_SECONDS
    trial = _Trial(course)
    optimizers = optimizer_paths(course.subject.state) if not is_transform else ("",)
    weak = [leaf for leaf in drifting if leaf.change is Change.HARDENS]
    moments = [leaf.path for leaf in weak if optimizers != ("",) and _is_inside([leaf], optimizers)]
    # Moments of a weak parameter are weak because it is, and not for what the optimizer does.
    made_weak = optimizers != ("",) and len(moments) == len(weak)
    edit = Edit()
    found: dict[str, str] = {}
    for group in sorted(_groups(drifting), key=lambda group: group[0].call):
        if time.perf_counter() > until:
            break
        candidates = _candidates(course, group, optimizers, made_weak=made_weak, moments=moments)
        chosen = _first_that_works(trial, group, edit, candidates)
        if chosen is not None:
            edit = edit.and_(chosen.edit)
            found |= {leaf.path: FOLLOWS if leaf.path in chosen.followers else chosen.text for leaf in group}
    rounds = trial.of(edit)
    said = _said(rounds)
    return tuple(
        replace(leaf, cure=Cure(text=found[leaf.path], tried=said, follows=found[leaf.path] == FOLLOWS))
        if leaf.path in found
        else leaf
        for leaf in leaves
    )


def with_start(leaf: LeafSignature, start: Meaning) -> LeafSignature:
    """The leaf with the number that it begins with in its cure; 0 where that is not known."""
    if leaf.cure is None or START not in leaf.cure.text:
        return leaf
    number = f"{start.value:g}" if isinstance(start, Known) else "0"
    return replace(leaf, cure=replace(leaf.cure, text=leaf.cure.text.replace(START, number)))


def _said(course: Course | None) -> str:
    if course is None or course.settled is None:
        return "tried: it keeps its type"
    if course.settled == 0:
        return "tried: settles at once"
    return f"tried: settles after {course.settled} call{'s' * (course.settled != 1)}"


def _groups(leaves: Sequence[LeafSignature]) -> list[list[LeafSignature]]:
    groups: dict[Any, list[LeafSignature]] = {}
    for leaf in leaves:
        place = leaf.sites[0].place if leaf.sites else None
        groups.setdefault((leaf.change, leaf.dtype_in, leaf.dtype_out, place), []).append(leaf)
    return list(groups.values())


class _Trial:
    """The update with changes, traced again."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def of(self, edit: Edit) -> Course | None:
        """What becomes of it; None where it cannot be traced."""
        try:
            return settle(applied(self._course.subject, self._course.pick, edit))
        except Exception:  # noqa: BLE001 (a cure under which the update raises is none)
            return None

    def drifts(self, edit: Edit) -> set[str] | None:
        """The leaves that still drift; None where the update raises."""
        course = self.of(edit)
        if course is None or course.failure is not None:
            return None
        return {path for done in course.rounds for path in changed(done.before, done.after)}


def _first_that_works(
    trial: _Trial, group: list[LeafSignature], edit: Edit, candidates: Iterator[Candidate]
) -> Candidate | None:
    """The first candidate under which the group's leaves rest and no other begins to drift."""
    before = trial.drifts(edit)
    paths = {leaf.path for leaf in group}
    if before is not None and not before & paths and (edit.made or edit.cast or edit.whole):
        return Candidate(FOLLOWS, Edit())
    for candidate in candidates:
        after = trial.drifts(edit.and_(candidate.edit))
        if after is not None and not after & paths and (before is None or after <= before):
            return candidate
    return None


def applied(subject: Traced, pick: Pick, edit: Edit) -> Traced:
    """The update with a cure in it."""
    before = edit.whole or abstract(subject.state)
    leaves = [edit.made.get(path, leaf) for path, leaf in zip(before.paths, before.leaves, strict=True)]
    tree = Abstract(before.structure, before.paths, tuple(leaves))
    own = subject.update

    def update(state: Any, *args: Any, **keywords: Any) -> tuple[Any, Any]:
        new, others = pick.split(own(state, *args, **keywords))
        pairs, structure = jax.tree_util.tree_flatten_with_path(new)
        converted = [
            edit.cast.get(jax.tree_util.keystr(keys, simple=True, separator="/"), _same)(leaf)
            for keys, leaf in pairs
        ]
        return jax.tree.unflatten(structure, converted), others

    return replace(subject, update=update, state=tree.rebuild(tree.arrays), index=0)


def _same(leaf: Any) -> Any:
    return leaf


def _candidates(
    course: Course,
    group: list[LeafSignature],
    optimizers: tuple[str, ...],
    *,
    made_weak: bool,
    moments: Sequence[str],
) -> Iterator[Candidate]:
    leaf = group[0]
    if leaf.change in {Change.APPEARS, Change.VANISHES}:
        yield _with_final_tree(course)
    elif leaf.change is Change.RESHAPES:
        yield from _of_shapes(course, group)
    elif leaf.change is Change.HARDENS and made_weak and _is_inside(group, optimizers):
        yield _strengthened(group)
    elif leaf.change is Change.HARDENS:
        yield _made_before_init(group, moments)
    elif leaf.change is Change.WEAKENS:
        yield _ended(group)
    elif _is_integral(leaf.dtype_in) and not _is_integral(leaf.dtype_out):
        # A cast to the integer would cut every fraction off.
        yield _made(group)
    elif any(leaf.path.startswith(prefix) for prefix in optimizers) and leaf.shape_in != ():
        yield _wrapped(group)
    elif leaf.change is Change.WIDENS and leaf.shape_in == () and _is_half(leaf.dtype_in):
        # A decay or another setting loses its value in a narrower type: bfloat16(0.999) is 1.
        yield _made(group)
    elif leaf.change is Change.WIDENS and _is_decay(leaf):
        yield _made(group)
        yield _narrowed(group, warn=True)
    else:
        yield _narrowed(group)
        yield _made(group)


def _is_half(dtype: str | None) -> bool:
    return dtype is not None and dtype_named(dtype).bits <= 16 and not _is_integral(dtype)  # noqa: PLR2004


def _is_decay(leaf: LeafSignature) -> bool:
    """Whether it is a half-precision average whose factor half precision cannot tell from 1, or may not."""
    factors = [site.number for site in leaf.sites if site.scales]
    return _is_half(leaf.dtype_in) and any(
        number is None or abs(1 - number) < SURELY_NOT_ONE for number in factors
    )


def _is_integral(dtype: str | None) -> bool:
    return dtype is not None and dtype_named(dtype).integral


def _struct(shape: Any, dtype: Any, *, weak: bool = False) -> Any:
    make: Any = Typed
    return make(tuple(shape), dtype, weak_type=weak)


def _made(group: list[LeafSignature]) -> Candidate:
    """The state begins with the type that comes out."""
    leaf = group[0]
    others = f" and {len(group) - 1} more" if len(group) > 1 else ""
    if leaf.shape_out == () and not others:
        text = f"make {leaf.path} as jnp.{leaf.dtype_out}({START})"
    else:
        text = f"make {leaf.path}{others} with dtype=jnp.{leaf.dtype_out}"
    return Candidate(
        text,
        Edit(made={each.path: _struct(each.shape_out, jnp.dtype(str(each.dtype_out))) for each in group}),
    )


def _is_inside(group: list[LeafSignature], optimizers: tuple[str, ...]) -> bool:
    return all(any(leaf.path.startswith(prefix) for prefix in optimizers) for leaf in group)


def _made_before_init(group: list[LeafSignature], moments: Sequence[str]) -> Candidate:
    """The parameters are given their dtype; an optimizer's moments are weak because those were."""
    own = [leaf for leaf in group if leaf.path not in moments]
    first = ", before the optimizer's init" if moments else ""
    text = f"{_made(own).text}{first}" if own else FOLLOWS
    return Candidate(text, _made(group).edit, frozenset(moments))


def _strengthened(group: list[LeafSignature]) -> Candidate:
    """An optimizer made the leaves weak in its `init`, where nobody can give them a dtype."""
    names = ", ".join(leaf.path for leaf in group[:2]) + (", ..." if len(group) > 2 else "")  # noqa: PLR2004
    strong = "jax.tree.map(lambda x: jnp.asarray(x, x.dtype), state)"
    text = f"after the optimizer's init, give {names} a dtype: {strong}"
    return Candidate(text, _made(group).edit)


def _cast_back(group: list[LeafSignature]) -> Edit:
    return Edit(cast={each.path: _caster(str(each.dtype_in)) for each in group})


def _caster(dtype: str) -> Callable[[Any], Any]:
    def cast(leaf: Any) -> Any:
        return jnp.asarray(leaf, dtype)

    return cast


def _wrapped(group: list[LeafSignature]) -> Candidate:
    dtype = str(group[0].dtype_in)
    narrow = dtype_named(dtype).bits <= 16 and not dtype_named(dtype).integral  # noqa: PLR2004 (of half precision)
    but = f"; {STANDS_STILL.format(dtype=dtype)}: keep such moments in float32" if narrow else ""
    return Candidate(
        f"wrap the optimizer: jaxdoctor.remedies.stable_dtypes(optimizer){but}", _cast_back(group)
    )


def _narrowed(group: list[LeafSignature], *, warn: bool = False) -> Candidate:
    """What comes out is cast to the type that went in."""
    leaf = group[0]
    site = leaf.sites[0] if leaf.sites else None
    cast = f".astype(jnp.{leaf.dtype_in})"
    if site is not None and site.file and site.direct:
        text = f"at {site.place}, cast the result with {cast}"
        if site.number is not None and not str(site.partner).startswith("~"):
            text += f", or write the number {site.number:.6g} as Python's, float(...)"
    else:
        names = ", ".join(each.path for each in group[:2]) + (", ..." if len(group) > 2 else "")  # noqa: PLR2004
        where = (
            f"; {site.place} is where it becomes {leaf.dtype_out}" if site is not None and site.file else ""
        )
        text = f"cast {names} with {cast} before it is returned{where}"
    but = f"; {STANDS_STILL.format(dtype=leaf.dtype_in)}" if warn else ""
    return Candidate(text + but, _cast_back(group))


def _ended(group: list[LeafSignature]) -> Candidate:
    """What comes out weak is given its type."""
    leaf = group[0]
    where = _at(leaf.sites[0] if leaf.sites else None) or f"where {leaf.path} is returned, "
    return Candidate(f"{where}end it with .astype(jnp.{leaf.dtype_in})", _cast_back(group))


def _at(site: SourceLine | None) -> str:
    return f"at {site.place}, " if site is not None and site.file else ""


def _with_final_tree(course: Course) -> Candidate:
    final = course.rounds[-1].after
    return Candidate("make the leaf, with its final shape, where the state is made", Edit(whole=final))


def _of_shapes(course: Course, group: list[LeafSignature]) -> Iterator[Candidate]:
    """A key that changes its kind is made so, or given back as it came; a shape is made as it ends."""
    leaf = group[0]
    before, after = str(leaf.dtype_in), str(leaf.dtype_out)
    final = dict(zip(course.rounds[-1].after.paths, course.rounds[-1].after.leaves, strict=True))
    if after.startswith(KEYS) and not before.startswith(KEYS):
        typed_ones = Edit(made={each.path: final[each.path] for each in group if each.path in final})
        yield Candidate(f"a raw key comes out typed: make {leaf.path} with jax.random.key", typed_ones)
        raw = Edit(cast={each.path: jax.random.key_data for each in group})
        yield Candidate(
            f"a raw key comes out typed: return jax.random.key_data({leaf.path.rpartition('/')[2]})", raw
        )
    elif before.startswith(KEYS) and not after.startswith(KEYS):
        wrapped = Edit(cast={each.path: jax.random.wrap_key_data for each in group})
        yield Candidate(f"a typed key comes out raw: return jax.random.wrap_key_data({leaf.path})", wrapped)
    else:
        yield from _cut(course, group)
        made = Edit(made={each.path: final[each.path] for each in group if each.path in final})
        shape = f"[{','.join(map(str, leaf.shape_out or ()))}]"
        yield Candidate(f"make {leaf.path} with the shape {shape} that it comes out with", made)


def _cut(course: Course, group: list[LeafSignature]) -> Iterator[Candidate]:
    """Arrays that grow along one axis at every call are cut to as many of their last rows as they had."""
    rounds = [
        dict(zip(each.paths, each.leaves, strict=True))
        for each in (course.rounds[0].before, *(done.after for done in course.rounds[:2]))
    ]
    axes = [_grown_axis([getattr(leaves.get(each.path), "shape", ()) for leaves in rounds]) for each in group]
    if None in axes:
        return
    leaf, axis = group[0], axes[0] or 0
    rows = (leaf.shape_in or ())[axis]
    index = f"{':, ' * axis}-{rows}:"
    others = f", and {len(group) - 1} more likewise" if len(group) > 1 else ""
    cuts = {
        each.path: _cutter(axis or 0, (each.shape_in or ())[axis or 0])
        for each, axis in zip(group, axes, strict=True)
    }
    yield Candidate(f"return {leaf.path}[{index}], its last {rows}{others}", Edit(cast=cuts))


def _cutter(axis: int, rows: int) -> Callable[[Any], Any]:
    def cut(leaf: Any) -> Any:
        return jax.lax.slice_in_dim(leaf, leaf.shape[axis] - rows, leaf.shape[axis], axis=axis)

    return cut


def _grown_axis(shapes: Sequence[tuple[int, ...]]) -> int | None:
    """The one axis along which an array grows, by as much at the second call as at the first."""
    if len(shapes) < 3 or len({len(shape) for shape in shapes}) != 1:  # noqa: PLR2004 (two calls)
        return None
    first, second, third = shapes
    steps = [(b - a, c - b) for a, b, c in zip(first, second, third, strict=True)]
    grown = [axis for axis, (one, other) in enumerate(steps) if one or other]
    if len(grown) != 1 or first[grown[0]] == 0:
        return None
    one, other = steps[grown[0]]
    return grown[0] if one == other > 0 else None


def optimizer_paths(state: Any) -> tuple[str, ...]:
    """Where in the state an optimizer's own state stands."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(state, is_leaf=_is_optax)
    return tuple(
        jax.tree_util.keystr(keys, simple=True, separator="/") + "/"
        for keys, node in pairs
        if _is_optax(node) and keys
    )


def _is_optax(node: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "optax" for base in inspect.getmro(type(node)))
