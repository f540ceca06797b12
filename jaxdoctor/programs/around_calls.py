"""Products raised by `jax.default_matmul_precision("highest")` around the calls of a function."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
from jax.extend import core

from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import place_of, user_frames
from jaxdoctor.programs.costs import Costs
from jaxdoctor.programs.products import is_float32_product, is_matrix_product

MOST_TRIED = 4
"""So many functions around a product are tried, the smallest first: each is a trace of the whole program."""


@dataclass(frozen=True, kw_only=True)
class Callee:
    """A function under the name by which its callers find it."""

    module: str
    name: str
    """Within the module: "make_m", or "Policy.head" of a class."""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What the setting around some functions does to a program, seen in the program traced with it."""

    callees: tuple[Callee, ...]
    raised: frozenset[str]
    """Places of matrix products none of which is below float32 any more."""

    share: float
    """The part of the operations of all products that become float32, from 0 to 1."""


def around_calls(function: Callable[..., Any], guilty: AbstractSet[str], *arguments: Any) -> Reached | None:
    """The functions with the least in them around whose calls the setting raises every guilty place.

    The function is traced anew with the setting applied, and what changed is read from the program.

    Args:
        function: as it runs, vmapped when it runs vmapped.
        guilty: places of matrix products, as `place_of` names them.
        arguments: arrays or `jax.ShapeDtypeStruct`.

    Returns:
        None where no function that a module holds does it, or where a place names a precision of its own.
    """
    before = _traced(function, arguments)
    calls = _Calls(before)
    chosen = [calls.smallest(place) for place in sorted(guilty)]
    if not chosen or not all(chosen):
        return None
    for turn in range(min(max(map(len, chosen)), MOST_TRIED)):
        # Of each place the smallest that is left; the last one where there are fewer.
        callees = dict.fromkeys(each[min(turn, len(each) - 1)] for each in chosen)
        reached = _reached(function, arguments, tuple(callees), before)
        if guilty <= reached.raised:
            return reached
    return None


def _reached(
    function: Callable[..., Any], arguments: Sequence[Any], callees: tuple[Callee, ...], before: core.Jaxpr
) -> Reached:
    with contextlib.ExitStack() as stack:
        for callee in callees:
            stack.enter_context(_applied(callee))
        after = _traced(function, arguments)
    rounded, left = _rounded_flops(before), _rounded_flops(after)
    total = sum(Costs(place_of).of(before).values())
    return Reached(
        callees=callees,
        raised=frozenset(_matrix_places(before) - _matrix_places(after)),
        share=(sum(rounded.values()) - sum(left.values())) / total,
    )


def _traced(function: Callable[..., Any], arguments: Sequence[Any]) -> core.Jaxpr:
    """Traced with nothing kept: a jitted function's program would be that of an earlier trace."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    closed = jax.make_jaxpr(function)(*arguments)
    jax.clear_caches()  # type: ignore[no-untyped-call]
    traced: core.Jaxpr = closed.jaxpr
    return traced


def _rounded_flops(jaxpr: core.Jaxpr) -> Mapping[str, float]:
    found = Costs(lambda eqn: place_of(eqn) if is_float32_product(eqn) else "").of(jaxpr)
    return {place: flops for place, flops in found.items() if place}


def _matrix_places(jaxpr: core.Jaxpr) -> set[str]:
    return {place_of(eqn) for eqn, _ in _matrix_products(jaxpr)}


def _matrix_products(
    jaxpr: core.Jaxpr, outer: tuple[Any, ...] = ()
) -> Iterator[tuple[core.JaxprEqn, tuple[Any, ...]]]:
    """Each with its call path, innermost first. The frames inside a loop may end at the loop."""
    for eqn in jaxpr.eqns:
        path = (*user_frames(eqn), *outer)
        if is_matrix_product(eqn):
            yield eqn, path
        for inner in jax_internals.run_jaxprs(eqn):
            yield from _matrix_products(inner, path)


class _Calls:
    """Which functions stand in the call paths of a program's products."""

    def __init__(self, jaxpr: core.Jaxpr) -> None:
        self._modules = {
            file: module
            for module in list(sys.modules.values())
            if (file := getattr(module, "__file__", None)) is not None
        }
        self._through: dict[Callee, set[str]] = {}
        self._paths: dict[str, list[list[Callee]]] = {}
        self._flops = Costs(place_of).of(jaxpr)
        for eqn, frames in _matrix_products(jaxpr):
            path = list(dict.fromkeys(self._path(frames)))
            self._paths.setdefault(place_of(eqn), []).append(path)
            for callee in path:
                self._through.setdefault(callee, set()).add(place_of(eqn))

    def smallest(self, place: str) -> list[Callee]:
        """Functions through which every call path of the place goes: those that hold least first."""
        paths = self._paths.get(place, [])
        common = [each for each in paths[0] if all(each in path for path in paths[1:])] if paths else []
        return sorted(common, key=self._cost)

    def _cost(self, callee: Callee) -> float:
        return sum(self._flops[place] for place in self._through[callee])

    def _path(self, frames: Sequence[Any]) -> Iterator[Callee]:
        """Each frame's function as its caller's module holds it, then as its own does; innermost first."""
        for frame, caller in zip(frames, [*frames[1:], None], strict=True):
            for file in dict.fromkeys((caller.file_name if caller else None, frame.file_name)):
                module = self._modules.get(file)
                if module is not None and (name := _name_in(module, frame)) is not None:
                    yield Callee(module=module.__name__, name=name)


def _name_in(module: ModuleType, frame: Any) -> str | None:
    """The name under which a module holds a frame's function, plain or in a class; None: it does not."""
    # Up to jax 0.6 a frame has a method's name without its class.
    classes = [name for name, held in list(vars(module).items()) if isinstance(held, type)]
    names = [frame.function_name, *(f"{name}.{frame.function_name}" for name in classes)]
    return next((name for name in names if _holds(module, name, frame)), None)


def _holds(module: ModuleType, name: str, frame: Any) -> bool:
    try:
        holder, name = _holder(module, name)
        found = inspect.unwrap(inspect.getattr_static(holder, name))
    except (AttributeError, ValueError):
        return False
    code = getattr(found, "__code__", None)
    if not callable(inspect.getattr_static(holder, name)) or code is None:
        return False
    return bool(code.co_filename == frame.file_name and code.co_name == frame.function_name.split(".")[-1])


def _holder(module: Any, name: str) -> tuple[Any, str]:
    *outer, last = name.split(".")
    for part in outer:
        module = inspect.getattr_static(module, part)
    return module, last


@contextlib.contextmanager
def _applied(callee: Callee) -> Iterator[None]:
    """What a user writes: `module.name = jax.default_matmul_precision("highest")(module.name)`."""
    holder, name = _holder(sys.modules[callee.module], callee.name)
    function = inspect.getattr_static(holder, name)
    setattr(holder, name, jax.default_matmul_precision("highest")(function))
    try:
        yield
    finally:
        setattr(holder, name, function)
