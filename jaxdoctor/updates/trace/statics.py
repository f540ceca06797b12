"""What a jitted function compiles for anew though no array changes: static fields and Python's own values."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.facts.signature import Recompile
from jaxdoctor.updates.trace.calls import WITHOUT_JIT
from jaxdoctor.updates.trace.cures import Edit, applied
from jaxdoctor.updates.trace.fixed import is_module
from jaxdoctor.updates.trace.rounds import Course, settle
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, Static, Typed, abstract

MOST_SHOWN = 40
"""Characters of a static value."""

DTYPES = {bool: "bool_", int: "int32", float: "float32"}
"""As what a Python value becomes an array."""


def recompiles(course: Course, given: Traced) -> tuple[Recompile, ...]:
    """Causes of compiles that the types of arrays do not show.

    Args:
        course: what the tracing found.
        given: the update as the user gave it.
    """
    first = course.rounds[0]
    fields = tuple(_fields(course, first.before, first.after))
    return fields or tuple(_python_values(course, given))


@dataclasses.dataclass(frozen=True)
class Changed:
    """What is static in a node of the state, and another in the next state."""

    owner: type
    field: str | None
    """None: the node is no dataclass, and all that it keeps beside its children is meant."""

    before: Any
    after: Any

    @property
    def name(self) -> str:
        """As in "State.epoch"."""
        return f"{self.owner.__name__}.{self.field}" if self.field else self.owner.__name__


def _fields(course: Course, before: Abstract, after: Abstract) -> Iterator[Recompile]:
    for each in _differences(before.structure, after.structure):
        yield Recompile(
            leaf=each.name,
            cause=f"the static {'field' if each.field else 'part of'} {each.name} changes from "
            f"{_shown(each.before)} to {_shown(each.after)}: every call compiles anew",
            fix=_as_array(course, each),
            certain=True,
        )


def _as_array(course: Course, changed: Changed) -> str | None:
    """The field as an array of the state, if the update can be traced so and then rests."""
    dtype = DTYPES.get(type(changed.before))
    if dtype is None or changed.field is None:
        return None
    token = WITHOUT_JIT.set(True)
    try:
        with warnings.catch_warnings():
            # Equinox warns of an array in a static field, which nobody but this trial puts there.
            warnings.simplefilter("ignore")
            rests = settle(_with_field_as_array(course, changed, dtype)).settled == 0
    except Exception:  # noqa: BLE001 (a cure under which the update raises is none)
        return None
    finally:
        WITHOUT_JIT.reset(token)
    text = f"make {changed.name} an array, jnp.{dtype}({changed.before!r}), in a field that is not static"
    return f"{text} (tried: settles at once)" if rests else None


def _with_field_as_array(course: Course, changed: Changed, dtype: str) -> Traced:
    """The update on a state beside which the field's values stand, as arrays."""
    own, field, pick = _unjitted(course.subject.update), str(changed.field), course.pick

    def is_owner(node: Any) -> bool:
        return type(node) is changed.owner

    def owners(tree: Any) -> list[Any]:
        return [node for node in jax.tree.leaves(tree, is_leaf=is_owner) if is_owner(node)]

    def holding(tree: Any, values: Iterator[Any]) -> Any:
        def one(node: Any) -> Any:
            if not is_owner(node):
                return node
            other = copy.copy(node)
            # Past the checks of frozen classes: what stands there is a traced array for this call alone.
            object.__setattr__(other, field, next(values))
            return other

        return jax.tree.map(one, tree, is_leaf=is_owner)

    def update(state: Any, *args: Any, **keywords: Any) -> tuple[Any, Any]:
        tree, values = state
        new, others = pick.split(own(holding(tree, iter(values)), *args, **keywords))
        fields = [getattr(node, field) for node in owners(new)]
        return (holding(new, itertools.repeat(changed.before)), fields), others

    state = course.subject.state
    make: Any = Typed
    scalar = make((), jnp.dtype(dtype), weak_type=False)
    return dataclasses.replace(
        course.subject, update=update, state=(state, [scalar for _ in owners(state)]), index=0
    )


def _unjitted(update: Any) -> Any:
    """The function below a `jit` of JAX's or Equinox's; any other as it is."""
    return update.__wrapped__ if hasattr(update, "__wrapped__") and hasattr(update, "lower") else update


def _differences(one: Any, other: Any) -> Iterator[Changed]:
    """What nodes of two trees of one shape keep beside their children, where it differs."""
    if one == other or one.node_data() is None or other.node_data() is None:
        return
    kind, _ = one.node_data()
    ours, others = one.children(), other.children()
    if kind is not other.node_data()[0] or len(ours) != len(others):
        return
    if all(first == second for first, second in zip(ours, others, strict=True)):
        yield from _own_fields(one, other)
    for first, second in zip(ours, others, strict=True):
        yield from _differences(first, second)


def _own_fields(one: Any, other: Any) -> Iterator[Changed]:
    numbers = range(one.num_leaves)
    old, new = jax.tree.unflatten(one, numbers), jax.tree.unflatten(other, numbers)
    if not dataclasses.is_dataclass(old):
        kind, kept = one.node_data()
        if not issubclass(kind, dict):
            yield Changed(kind, None, kept, other.node_data()[1])
        return
    for field in dataclasses.fields(old):
        before, after = getattr(old, field.name, None), getattr(new, field.name, None)
        if not jax.tree.leaves(before) and jax.tree.leaves(after):
            continue
        if _differ(before, after):
            yield Changed(type(old), field.name, before, after)


def _differ(before: Any, after: Any) -> bool:
    try:
        return bool(before != after)
    except (TypeError, ValueError):
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _python_values(course: Course, given: Traced) -> Iterator[Recompile]:
    """Python numbers in the state that a call of an Equinox-jitted update replaces by others."""
    subject = course.subject
    certain = given.filter_jit or is_filter_jit(given.update)
    paths = _python_numbers(subject.state) if certain else _in_equinox_modules(subject.state)
    if not paths:
        return
    tree = abstract(subject.state)
    values = dict(zip(tree.paths, jax.tree.leaves(subject.state), strict=True))
    static = [
        Static(values[path]) if path in paths else leaf
        for path, leaf in zip(tree.paths, tree.leaves, strict=True)
    ]
    kept = Abstract(tree.structure, tree.paths, tuple(static))
    try:
        after = _numbers_after(course, kept)
    except Exception:  # noqa: BLE001 (with such values left in place it may not trace; then they are arrays)
        return
    for path in paths:
        if path in after and _differ(values[path], after[path]):
            yield _of_number(course, path, values[path], after[path], certain=certain)


def _numbers_after(course: Course, state: Abstract) -> dict[str, Any]:
    """The Python numbers in the next state, by path, where those in the state were left in place."""
    subject, arguments = course.subject, abstract(course.subject.args)
    count, found = len(state.arrays), dict[str, Any]()

    def flat(*arrays: Any) -> int:
        returned = subject.update(
            state.rebuild(arrays[:count]), *arguments.rebuild(arrays[count:]), **subject.keywords
        )
        new, _ = course.pick.split(returned)
        pairs, _ = jax.tree_util.tree_flatten_with_path(new)
        numbers = [(keys, leaf) for keys, leaf in pairs if isinstance(leaf, bool | int | float)]
        found.update({jax.tree_util.keystr(keys, simple=True, separator="/"): leaf for keys, leaf in numbers})
        return 0

    jax.make_jaxpr(flat)(*state.arrays, *arguments.arrays)
    return found


def _of_number(course: Course, path: str, old: Any, new: Any, *, certain: bool) -> Recompile:
    dtype = "float32" if isinstance(old, float) else "int32"
    name = type(old).__name__
    jit = "it is static under eqx.filter_jit" if certain else "eqx.filter_jit takes it for static"
    make: Any = Typed
    edit = Edit(made={path: make((), jnp.dtype(dtype), weak_type=False)})
    try:
        rests = settle(applied(course.subject, course.pick, edit)).settled == 0
    except Exception:  # noqa: BLE001 (a cure under which the update raises is none)
        rests = False
    return Recompile(
        leaf=path,
        cause=f"{path} is a Python {name}: {jit}, and with {old!r} becoming {new!r} every call compiles anew",
        fix=f"make it jnp.{dtype}({old!r}) (tried: settles at once)" if rests else None,
        certain=certain,
    )


def _python_numbers(state: Any) -> tuple[str, ...]:
    pairs, _ = jax.tree_util.tree_flatten_with_path(state)
    return tuple(
        jax.tree_util.keystr(keys, simple=True, separator="/")
        for keys, leaf in pairs
        if isinstance(leaf, bool | int | float)
    )


def _in_equinox_modules(state: Any) -> tuple[str, ...]:
    """Of a state that holds an Equinox module, the numbers in it: such a step is hardly jitted otherwise."""
    found: list[str] = []
    pairs, _ = jax.tree_util.tree_flatten_with_path(state, is_leaf=is_module)
    for keys, node in pairs:
        if is_module(node):
            place = jax.tree_util.keystr(keys, simple=True, separator="/")
            found += ["/".join(filter(None, (place, path))) for path in _python_numbers(node)]
    return tuple(found)


def is_filter_jit(update: Any) -> bool:
    """Whether it is a function that Equinox jits."""
    kind = type(update)
    return kind.__module__.partition(".")[0] == "equinox" and "jit" in kind.__name__.lower()


def of_shapes(
    shapes: Sequence[tuple[str, ...]],
    names: Sequence[str],
    compiled: Sequence[bool],
    fix: str | None = None,
) -> Iterator[Recompile]:
    """The first call whose data have other types than those of the first.

    Args:
        shapes: of every call, the types of its data.
        names: of the data.
        compiled: of every call that was made, whether XLA compiled.
        fix: what was tried and saves the compile.
    """
    first = shapes[0] if shapes else ()
    index = next((at for at, types in enumerate(shapes) if types != first), None)
    if index is None:
        return
    pairs = zip(names, first, shapes[index], strict=False)
    name, before, after = next((pair for pair in pairs if pair[1] != pair[2]), ("data", "", ""))
    counted = "XLA compiled there" if index < len(compiled) and compiled[index] else "jit compiles once more"
    yield Recompile(
        leaf=name,
        cause=f"call {index + 1} has {name} as {after}, call 1 as {before}: {counted}",
        fix=fix,
    )
