"""The forms in which people write steps, each made into `update(state, *args)` on arrays."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.updates.trace.fixed import with_flags_fixed, with_numbers_fixed
from jaxdoctor.updates.trace.inner import is_mismatch, mending
from jaxdoctor.updates.trace.rounds import Course, settle
from jaxdoctor.updates.trace.target import Traced

UNBOUND = re.compile(r"unbound axis name:? *['\"]?(\w+)")

MOST_FORMS = 6
"""So often a step that raises is tried again in another form."""

READS = ("__float__", "__int__", "__bool__", "__index__", "item")
"""How Python takes a value out of an array."""


def settled(subject: Traced) -> Course:
    """What becomes of the state's types, in whatever form the step is written.

    Raises:
        Exception: what the step raises in the form that it was given in.
    """
    subject = with_flags_fixed(plain(subject))
    first: Exception | None = None
    for _ in range(MOST_FORMS):
        try:
            return settle(subject)
        except Exception as error:  # noqa: BLE001 (of any kind; it is raised below unless it is mended)
            first = first or error
            changed = mended(subject, error)
            if changed is None:
                raise first from None
            subject = changed
    assert first is not None
    raise first


def plain(subject: Traced) -> Traced:
    """Without iterators for batches, keyword arguments apart, and NNX modules as trees of arrays."""
    if subject.index is not None:
        return subject
    args = tuple(_batch(each) for each in subject.args)
    args, keywords = _keywords(subject.update, args, subject.keywords)
    names = subject.names or names_of(subject.update, 1 + len(args))
    subject = replace(subject, args=args, keywords=keywords, names=names)
    return _without_modules(_named(_complete(subject)))


def names_of(update: Callable[..., Any], count: int) -> tuple[str, ...]:
    """The names of the first positional arguments."""
    known = [each.name for each in _parameters(update) if each.kind <= each.POSITIONAL_OR_KEYWORD]
    return tuple(known[index] if index < len(known) else f"argument {index}" for index in range(count))


def _parameters(update: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(update).parameters.values())
    except (TypeError, ValueError):
        return []


def _batch(value: Any) -> Any:
    """The first of an iterator or a loader; anything else as it is."""
    is_tree = isinstance(value, (tuple, list, dict, str, bytes)) or hasattr(value, "shape")
    if is_tree or not (hasattr(value, "__next__") or _is_loader(value)):
        return value
    return jax.tree.map(_array, next(iter(value)))


def _is_loader(value: Any) -> bool:
    """Whether it is a collection of batches, no tree of JAX's and no module."""
    return hasattr(value, "__iter__") and hasattr(value, "__len__") and jax.tree.leaves(value) == [value]


def _array(leaf: Any) -> Any:
    return np.asarray(leaf) if hasattr(leaf, "__array__") and not isinstance(leaf, jax.Array) else leaf


def _keywords(
    update: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """A last dictionary of keyword-only arguments is what they are."""
    only = {each.name for each in _parameters(update) if each.kind is each.KEYWORD_ONLY}
    if args and isinstance(args[-1], dict) and args[-1] and set(args[-1]) <= only:
        return args[:-1], {**given, **args[-1]}
    return args, given


def _complete(subject: Traced) -> Traced:
    """With a Python float for each keyword-only argument that must be given and is not."""
    missing = [
        each.name
        for each in _parameters(subject.update)
        if each.kind is each.KEYWORD_ONLY and each.default is each.empty and each.name not in subject.keywords
    ]
    if not missing:
        return subject
    note = f"{' and '.join(missing)} not given: taken for a Python float"
    keywords = {**subject.keywords, **dict.fromkeys(missing, 1.0)}
    return replace(subject, keywords=keywords, notes=(*subject.notes, note))


def _named(subject: Traced) -> Traced:
    """With its keyword arguments behind the others, so that they are traced as well."""
    if not subject.keywords:
        return subject
    update, count, names = subject.update, 1 + len(subject.args), tuple(subject.keywords)

    def called(*values: Any) -> Any:
        return update(*values[:count], **dict(zip(names, values[count:], strict=True)))

    return replace(
        subject,
        update=called,
        args=(*subject.args, *subject.keywords.values()),
        keywords={},
        names=(*subject.names, *names),
    )


def nnx_objects(nnx: Any) -> tuple[type, ...]:
    """The classes of what a step of Flax NNX changes in place."""
    names = ("Module", "Optimizer", "Metric", "Rngs")
    return tuple(getattr(nnx, name) for name in names if hasattr(nnx, name))


def _without_modules(subject: Traced) -> Traced:
    """With Flax NNX modules, which a step changes in place, split before the call and merged in it."""
    nnx: Any = sys.modules.get("flax.nnx")
    if nnx is None:
        return subject
    arguments = [subject.state, *subject.args]
    held = {index: each for index, each in enumerate(arguments) if isinstance(each, nnx_objects(nnx))}
    if not held:
        return subject
    names = {subject.names[index]: each for index, each in held.items()}
    graph, state = nnx.split(names)
    others = [index for index in range(len(arguments)) if index not in held]

    def update(state: Any, *rest: Any) -> tuple[Any, Any]:
        modules = nnx.merge(graph, state)
        given = dict(zip(others, rest, strict=True)) | {
            index: modules[subject.names[index]] for index in held
        }
        returned = subject.update(*(given[index] for index in range(len(arguments))))
        parts = returned if isinstance(returned, tuple) else (returned,)
        for name, before in names.items():
            # A step may return the module too; then that is the next one.
            modules[name] = next((part for part in parts if type(part) is type(before)), modules[name])
        kept = tuple(part for part in parts if not isinstance(part, nnx_objects(nnx)))
        return nnx.state(modules), kept

    return replace(
        subject,
        update=update,
        state=state,
        args=tuple(arguments[index] for index in others),
        names=("state", *(subject.names[index] for index in others)),
        parts=tuple(names),
        index=0,
    )


def mended(subject: Traced, error: Exception) -> Traced | None:
    """The step in a form in which this error does not come again; None: there is none."""
    changed = completed(subject, error)
    if changed is not None:
        return changed
    if isinstance(error, jax.errors.ConcretizationTypeError | TypeError):
        fixed = with_numbers_fixed(subject)
        if fixed is not None:
            return fixed
    frozen = _frozen(subject)
    if frozen is not None:
        return frozen
    if isinstance(error, jax.errors.ConcretizationTypeError):
        return _replaying(subject)
    return None


def completed(subject: Traced, error: Exception) -> Traced | None:
    """With its axis names bound, or with what is refused inside it mended; None where it is another error."""
    unbound = UNBOUND.search(str(error))
    if isinstance(error, NameError) and unbound:
        return _bound(subject, unbound[1])
    return mending(subject, error) if is_mismatch(error) and not subject.inner else None


def _bound(subject: Traced, axis: str) -> Traced:
    """Under a vmap of size 1 that gives the axis its name."""
    update = subject.update

    def mapped(*values: Any) -> Any:
        try:
            return jax.vmap(update, in_axes=None, out_axes=None, axis_name=axis, axis_size=1)(*values)
        except ValueError:
            # What depends on the position along the axis comes out mapped.
            out = jax.vmap(update, in_axes=None, out_axes=0, axis_name=axis, axis_size=1)(*values)
            return jax.tree.map(lambda leaf: jnp.squeeze(leaf, 0), out)

    return replace(subject, update=mapped, notes=(*subject.notes, f"axis {axis!r} bound with size 1"))


def _frozen(subject: Traced) -> Traced | None:
    """With Python's whole numbers, truth values and words, or else its floats, left as they are: static."""
    for kinds in (int | str, float):
        fixed = {index: each for index, each in enumerate(subject.args) if isinstance(each, kinds)}
        if fixed:
            return _with_fixed(subject, fixed)
    return None


def _with_fixed(subject: Traced, fixed: dict[int, Any]) -> Traced:
    update, count = subject.update, len(subject.args)
    free = [index for index in range(count) if index not in fixed]

    def called(state: Any, *rest: Any) -> Any:
        given = dict(zip(free, rest, strict=True)) | fixed
        return update(state, *(given[index] for index in range(count)))

    names = subject.names
    static = ", ".join(names[1 + index] for index in fixed)
    return replace(
        subject,
        update=called,
        args=tuple(subject.args[index] for index in free),
        names=(*names[:1], *(names[1 + index] for index in free)),
        notes=(*subject.notes, f"{static} static"),
    )


def _replaying(subject: Traced) -> Traced | None:
    """With the values that the step reads on the host, as `float(loss)`, taken from one call for real."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((subject.state, subject.args))):
        return None
    update = subject.update
    values: list[Any] = []
    try:
        with _reading(type(jnp.zeros(())), values):
            update(_real(subject.state), *_real(subject.args))
    except Exception:  # noqa: BLE001 (a step that no values help is told by what it raises when traced)
        return None

    def called(*arguments: Any) -> Any:
        with _replay(values):
            return update(*arguments)

    note = "values that it reads on the host are those of one call that was made"
    return replace(subject, update=called, notes=(*subject.notes, note)) if values else None


def _real(tree: Any) -> Any:
    def real(leaf: Any) -> Any:
        return jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf

    return jax.tree.map(real, tree)


@contextlib.contextmanager
def _reading(kind: Any, values: list[Any]) -> Iterator[None]:
    """While open, every value that Python takes out of an array of this class is kept."""

    def kept(original: Any) -> Any:
        def read(array: Any, *rest: Any) -> Any:
            value = original(array, *rest)
            values.append(value)
            return value

        return read

    with _replaced(kind, {name: kept(getattr(kind, name)) for name in READS}):
        yield


@contextlib.contextmanager
def _replay(values: list[Any]) -> Iterator[None]:
    """While open, a traced array gives Python those values, one after the other."""
    left = iter(values)

    def given(*_: Any) -> Any:
        return next(left, values[-1])

    with _replaced(jax.core.Tracer, dict.fromkeys(READS, given)):
        yield


@contextlib.contextmanager
def _replaced(kind: Any, methods: Mapping[str, Any]) -> Iterator[None]:
    before = {name: kind.__dict__[name] for name in methods if name in kind.__dict__}
    for name in before:
        setattr(kind, name, methods[name])
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(kind, name, method)
