"""Checks a step once, when it is first called: whether its state keeps its types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")

DRIFTS = ("state-dtype-drifts", "weak-type-drifts", "state-tree-changes", "no-fixed-point", "x64-appears")
"""The rules of `check-update` after whose findings a loop recompiles or is refused."""


class DriftError(TypeError):
    """The state of a step comes back with other types than it went in with."""


class _Watched(Generic[P, R]):
    """A step that is checked at its first call; everything else is the step's own."""

    def __init__(self, step: Callable[P, R]) -> None:
        functools.update_wrapper(self, step)
        self._step = step
        self._checked = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self._checked:
            _check(self._step, args, kwargs)
            self._checked = True
        return self._step(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)


def watch(step: Callable[P, R]) -> Callable[P, R]:
    """The same step, whose first call raises if its state does not keep its dtypes and weak types.

    For tests and first calls: the step is traced until its types settle, as `jaxdoctor check-update` does,
    without running it, and from the second call on it is the bare function. The state is the first argument,
    and every further one that comes back.

    >>> @watch
    ... def step(state, batch):
    ...     return {"mean": state["mean"] * 0.9 + batch.mean() * 0.1}
    >>> state = step({"mean": jnp.zeros(())}, jnp.ones(3))

    Raises:
        DriftError: the returned step raises it, with the leaf and the line that changes it.
    """
    return _Watched(step)


def _check(step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    # What check-update needs is imported with the first check only.
    from jaxdoctor.rules.diagnose import diagnose  # noqa: PLC0415
    from jaxdoctor.rules.rule import RULES  # noqa: PLC0415
    from jaxdoctor.updates.trace.run import sign  # noqa: PLC0415
    from jaxdoctor.updates.trace.target import Traced  # noqa: PLC0415

    if not args:
        raise TypeError("give the state as the first argument, without a name")
    name = getattr(step, "__name__", type(step).__name__)
    state, *others = map(_untraced, args)
    keywords = jax.tree.map(_untraced_leaf, kwargs)
    traced = Traced(update=step, state=state, args=tuple(others), keywords=keywords)
    signature = sign(lambda: traced, name)
    drifts = [RULES.load(each) for each in DRIFTS]
    findings = list(diagnose([signature], drifts))
    if findings:
        raise DriftError("\n".join(_lines(findings)))


def _lines(findings: list[Any]) -> Iterator[str]:
    for finding in findings:
        place = finding.location
        where = f"{place.path}:{place.line}" if place.line else place.path
        yield f"{finding.message} ({', '.join(str(part) for part in (where, place.leaf) if part)})"
        if finding.fix:
            yield f"  fix: {finding.fix}"


def _untraced(tree: Any) -> Any:
    return jax.tree.map(_untraced_leaf, tree)


def _untraced_leaf(leaf: Any) -> Any:
    """Types in place of traced values, which must not leave their own trace."""
    if not isinstance(leaf, jax.core.Tracer):
        return leaf
    kind = jax.typeof(leaf)
    abstract: Any = jax.ShapeDtypeStruct
    return abstract(kind.shape, kind.dtype, weak_type=getattr(kind, "weak_type", False))
