"""What traced programs are made of: the one module that knows what JAX does not document.

Parameters of equations change their names between releases of JAX. Whoever opens a traced program asks
here, and the test of this module compares each answer with what JAX itself does with the same program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ParamSpec, Protocol, TypeVar

from jax.extend import core

from jaxdoctor.errors import UnsupportedJaxError
from jaxdoctor.facts.versions import NEWEST_JAX

Values = Sequence[Any]

Question = ParamSpec("Question")
Answer = TypeVar("Answer")

CALLED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "core_closed_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    # What runs when no derivative is taken.
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "shard_map": "jaxpr",
}
"""The primitives that only call one program, and the parameter that holds it."""

JITTED = ("jit", "pjit")
"""What `jax.jit` becomes: "pjit" up to jax 0.6."""

PER_DEVICE = ("shard_map",)
"""Calls whose program sees a device's part of each input, so that it cannot run in the call's place."""

MISS_LOGGERS = ("jax._src.interpreters.partial_eval", "jax._src.pjit")
"""The loggers that `jax_explain_cache_misses` writes to: the second before 0.9."""

LOOPS_AND_CHOICES = ("scan", "while", "cond", "custom_linear_solve")
"""The primitives that run programs in other ways than calling one: see the functions of those names."""


class ClosedJaxpr(Protocol):
    """A program with the values of its constants. From jax 0.11 on every jaxpr is one."""

    @property
    def jaxpr(self) -> core.Jaxpr:
        """The program."""

    @property
    def consts(self) -> Values:
        """As many as the program's `constvars`."""

    @property
    def in_avals(self) -> Values:
        """The abstract inputs."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """The parts of a `scan` equation: its inputs are constants, carries and stacked slices, in that order."""

    body: ClosedJaxpr
    """Takes constants, carries and one slice of each stack; returns the next carries and slices."""

    constants: int
    carries: int
    length: int
    reverse: bool
    unroll: int


@dataclass(frozen=True, kw_only=True)
class While:
    """The parts of a `while` equation: constants of the condition, those of the body, then the carries."""

    condition: ClosedJaxpr
    condition_constants: int
    body: ClosedJaxpr
    body_constants: int


@dataclass(frozen=True, kw_only=True)
class LinearSolve:
    """The part of a `custom_linear_solve` that runs: its constants lie in `constants` among the inputs."""

    solve: ClosedJaxpr
    constants: slice
    right_sides: slice


def _known(question: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """The question, whose answer in a JAX that is laid out otherwise is an error that says so."""

    @functools.wraps(question)
    def ask(*arguments: Question.args, **keywords: Question.kwargs) -> Answer:
        try:
            return question(*arguments, **keywords)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"{question.__name__}: {error!r}"
            raise UnsupportedJaxError(version("jax"), NEWEST_JAX, what) from error

    return ask


@_known
def scan(eqn: core.JaxprEqn) -> Scan:
    """The parts of a `scan` equation.

    Raises:
        UnsupportedJaxError: this JAX lays a scan out in a way that is not known.
    """
    params = eqn.params
    if "num_consts" in params:
        constants, carries = params["num_consts"], params["num_carry"]
    else:
        # jax 0.11.0 put the three groups of inputs into one tree.
        constants, carries, _ = (len(group) for group in params["ft_in"].unpack())
    return Scan(
        body=params["jaxpr"],
        constants=constants,
        carries=carries,
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )


@_known
def while_loop(eqn: core.JaxprEqn) -> While:
    """The parts of a `while` equation.

    Raises:
        UnsupportedJaxError: this JAX lays a loop out in a way that is not known.
    """
    return While(
        condition=eqn.params["cond_jaxpr"],
        condition_constants=eqn.params["cond_nconsts"],
        body=eqn.params["body_jaxpr"],
        body_constants=eqn.params["body_nconsts"],
    )


def bind_while(eqn: core.JaxprEqn, loop: While, values: Values) -> Values:
    """The equation with other programs. Only the primitive takes a condition for each row of a batch.

    Args:
        eqn: the equation as it stood.
        loop: the programs, and how many constants each takes.
        values: the constants of the condition, those of the body, then the carries.
    """
    primitive: Any = eqn.primitive
    outputs: Values = primitive.bind(
        *values,
        **{
            **eqn.params,
            "cond_jaxpr": loop.condition,
            "cond_nconsts": loop.condition_constants,
            "body_jaxpr": loop.body,
            "body_nconsts": loop.body_constants,
        },
    )
    return outputs


@_known
def branches(eqn: core.JaxprEqn) -> tuple[ClosedJaxpr, ...]:
    """What a `cond` equation chooses among, by its first input; each takes all the others.

    Raises:
        UnsupportedJaxError: this JAX lays a choice out in a way that is not known.
    """
    return tuple(eqn.params["branches"])


@_known
def linear_solve(eqn: core.JaxprEqn) -> LinearSolve:
    """The part of a `custom_linear_solve` equation that runs when no derivative is taken.

    Raises:
        UnsupportedJaxError: this JAX lays it out in a way that is not known.
    """
    lengths = eqn.params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    return LinearSolve(
        solve=eqn.params["jaxprs"].solve,
        constants=slice(start, start + lengths.solve),
        right_sides=slice(sum(lengths), None),
    )


@_known
def called(eqn: core.JaxprEqn) -> tuple[core.Jaxpr, Values] | None:
    """The program that the equation only calls, and its constants; None when it does something else.

    Raises:
        UnsupportedJaxError: this JAX lays a call out in a way that is not known.
    """
    parameter = CALLED.get(eqn.primitive.name)
    return None if parameter is None else opened(eqn.params[parameter])


def opened(jaxpr: Any) -> tuple[core.Jaxpr, Values]:
    """A program, closed or open, and its constants."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return inner, tuple(getattr(jaxpr, "consts", ()))


def inner_jaxprs(eqn: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    """Every program among the equation's parameters, derivatives among them."""
    for parameter in eqn.params.values():
        for each in parameter if isinstance(parameter, tuple | list) else (parameter,):
            inner = getattr(each, "jaxpr", each)
            if isinstance(inner, core.Jaxpr):
                yield inner


def run_jaxprs(eqn: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    """The programs that the equation runs when no derivative is taken."""
    if (call := called(eqn)) is not None:
        yield call[0]
    elif eqn.primitive.name == "custom_linear_solve":
        yield linear_solve(eqn).solve.jaxpr
    else:
        yield from inner_jaxprs(eqn)


@_known
def donated(eqn: core.JaxprEqn) -> tuple[bool, ...] | None:
    """Of a call of a jitted function: which of its inputs it may overwrite. None of anything else.

    Raises:
        UnsupportedJaxError: this JAX lays a call out in a way that is not known.
    """
    return tuple(eqn.params["donated_invars"]) if eqn.primitive.name in JITTED else None


def is_program(value: Any) -> bool:
    """Whether a parameter of an equation is a program, closed or open."""
    return isinstance(getattr(value, "jaxpr", value), core.Jaxpr)


@_known
def with_equations(program: Any, eqns: Sequence[core.JaxprEqn]) -> Any:
    """The program, closed or open, with other equations between the same inputs and outputs.

    Raises:
        UnsupportedJaxError: this JAX builds programs in a way that is not known.
    """
    inner = getattr(program, "jaxpr", program)
    changed = inner.replace(eqns=list(eqns))
    # From jax 0.11 on a closed program is the program itself.
    return changed if inner is program else program.replace(jaxpr=changed)


def is_literal(atom: Any) -> bool:
    """Whether an input of an equation is a number that stands in the program: its `val`."""
    return isinstance(atom, core.Literal)


def bind(eqn: core.JaxprEqn, values: Values) -> Values:
    """The equation's outputs for other inputs, all else as it stood."""
    primitive: Any = eqn.primitive
    bound = primitive.get_bind_params(eqn.params)
    # Before jax 0.10 the functions of custom derivatives came beside the parameters.
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    with eqn.ctx.manager:
        outputs = primitive.bind(*functions, *values, **params)
    return outputs if primitive.multiple_results else [outputs]


def frames(eqn: core.JaxprEqn) -> tuple[Any, ...]:
    """The Python frames that led to the equation, innermost first; each has file, line and function name."""
    traced = eqn.source_info.traceback
    return tuple(traced.frames) if traced else ()


def is_backward(eqn: core.JaxprEqn) -> bool:
    """Whether the equation belongs to the backward pass of a gradient, by the transforms that JAX notes."""
    # Written out, the stack is empty up to jax 0.6 while no function in it has a name.
    return any(getattr(each, "name", None) == "transpose" for each in eqn.source_info.name_stack.stack)


def scopes(eqn: core.JaxprEqn) -> tuple[str, ...]:
    """The names of `jax.named_scope` around the equation, outermost first, without JAX's transforms.

    Within a program that another one calls, only those that were entered inside of it.
    """
    return tuple(each.name for each in eqn.source_info.name_stack.stack if type(each).__name__ == "Scope")


def source_file(jaxpr: core.Jaxpr) -> str:
    """The file of the function that a program was traced from; empty where JAX does not know."""
    described = str(getattr(jaxpr.debug_info, "func_src_info", ""))
    return described.partition(" at ")[2].rpartition(":")[0]
