"""Python's numbers that Equinox leaves as they are: flags and sizes among the leaves of a module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxdoctor.updates.trace.target import Traced

NUMBERS = (bool, int, float)


@dataclass(frozen=True)
class Fixed:
    """A number in a place of its own, which JAX takes for no array."""

    value: Any


def with_flags_fixed(subject: Traced) -> Traced:
    """With the truth values in Equinox's modules, such as `inference`, as Python has them."""
    if not subject.filter_jit and not any(map(is_module, _nodes((subject.state, subject.args)))):
        return subject
    return _with_fixed(subject, (bool,))


def with_numbers_fixed(subject: Traced) -> Traced | None:
    """With all of Python's numbers as they are, as under `eqx.filter_jit`; None where there is none."""
    return _with_fixed(subject, NUMBERS) if subject.filter_jit and _held(subject, NUMBERS) else None


def _with_fixed(subject: Traced, kinds: tuple[type, ...]) -> Traced:
    if not _held(subject, kinds):
        return subject
    own = subject.update

    def kept(leaf: Any) -> Any:
        return Fixed(leaf) if type(leaf) in kinds else leaf

    def update(*arguments: Any, **keywords: Any) -> Any:
        return jax.tree.map(kept, own(*jax.tree.map(_number, arguments), **keywords))

    return replace(
        subject,
        update=update,
        state=jax.tree.map(kept, subject.state),
        args=jax.tree.map(kept, subject.args),
    )


def _number(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Fixed) else leaf


def _held(subject: Traced, kinds: tuple[type, ...]) -> bool:
    return any(type(leaf) in kinds for leaf in jax.tree.leaves((subject.state, subject.args)))


def _nodes(tree: Any) -> Iterator[Any]:
    """The modules in a tree, or its leaves."""
    return iter(jax.tree.leaves(tree, is_leaf=is_module))


def is_module(node: Any) -> bool:
    """Whether it is a module of Equinox's."""
    bases = type(node).__mro__
    return any(base.__module__.startswith("equinox") and base.__name__ == "Module" for base in bases)
