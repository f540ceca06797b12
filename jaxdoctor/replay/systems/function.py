"""A function of the user's: a replay is one call of it, and its outputs are the state."""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.facts.model import Model
from jaxdoctor.programs.authors import is_users, place_of
from jaxdoctor.programs.jax_internals import inner_jaxprs, source_file
from jaxdoctor.programs.named import find, first_line, raised
from jaxdoctor.replay.fields import leaf_names
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Simulation, System
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import Progress

ARGUMENTS = "arguments"
"""Every worker calls the function with the same numbers."""

NOISE = 1e-3
"""Relative, on floating arguments that are made once."""

MOST_BYTES = 1 << 30
"""Of the arguments of all replays together."""

MOST_QUOTED = 60
"""Of what a function prints, so many characters are quoted."""

CALLBACKS = {"debug_callback", "debug_print", "io_callback", "pure_callback"}
JITTED = {"jit", "pjit"}
PACKAGES = ("/site-packages/", "/dist-packages/")

REPLAY, OUTPUT, CHECK = "replay", "output", "check"
"""The leaves of the state: which replay it is, what the function returned, NaN where the check says bad."""


@dataclass(frozen=True, kw_only=True)
class _Users:
    """The user's functions with their names, and the structure of one call's arguments."""

    names: Any
    function: Callable[..., Any]
    check: Callable[[Any], Any] | None
    leaves: tuple[Any, ...]
    structure: Any

    @property
    def dynamic(self) -> tuple[int, ...]:
        """Which leaves are arrays; all others are constants of the program."""
        return tuple(index for index, leaf in enumerate(self.leaves) if _is_array(leaf))

    def call(self, values: Sequence[Any]) -> Any:
        """What the function returns for these arrays."""
        leaves = list(self.leaves)
        for index, value in zip(self.dynamic, values, strict=True):
            leaves[index] = _as_given(value, self.leaves[index])
        return self.function(*jax.tree.unflatten(self.structure, leaves))


def _record(plan: RecordPlan, folder: Path, progress: Progress) -> tuple[Recording, Model | None]:
    progress.stage("making the arguments")
    make = _Maker(plan)
    users = _users(plan, make)
    stacks = make.seeded(users, plan) if make.takes_seed else _varied(users, plan)
    (folder / ARGUMENTS).write_bytes(pickle.dumps(stacks))
    progress.stage("calling the function")
    values = [jnp.asarray(stack[0]) for stack in stacks]
    _insist_on_pure(users, values)
    simulation = _simulation(users, stacks)
    called = jax.jit(simulation.step)(simulation.parameters, simulation.blank, jnp.zeros(0))
    jax.block_until_ready(called)  # type: ignore[no-untyped-call]
    recording = Recording(
        starts={REPLAY: np.arange(plan.replays, dtype=np.int32)},
        ctrl=np.zeros((plan.replays, 1, 0)),
        start=make.origin,
        controls=None,
    )
    return recording, None


def _load(plan: RecordPlan, folder: Path) -> Simulation:
    users = _users(plan, _Maker(plan))
    stacks = pickle.loads((folder / ARGUMENTS).read_bytes())  # noqa: S301 (our own worker wrote it)
    return _simulation(users, stacks)


class _Maker:
    """What makes the arguments."""

    def __init__(self, plan: RecordPlan) -> None:
        # After jaxdoctor's own imports, so that no module of the user's stands in for one of them.
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, here)
        self.name = find_source(plan.model).load(plan.model).args
        with _quiet():
            self.make = find(self.name)
        if not callable(self.make):
            raise UsageError(f"{self.name} is no function", hint="name a function that returns the arguments")
        self.seed = plan.seed
        taken = _positional(self.make)
        if len(taken) > 1:
            raise UsageError(
                f"{self.name}({', '.join(taken)}) takes {len(taken)} arguments",
                hint="let it take a parameter at most, the seed, and return the arguments of a call",
            )
        self.takes_seed = bool(taken)
        if self.takes_seed:
            self.origin = f"{self.name}(seed), with a seed of its own for each replay from {plan.seed} on"
        else:
            self.origin = (
                f"{self.name}(), its floating numbers varied by a factor of 1 + {NOISE:g} * normal(0, 1) "
                "from the second replay on"
            )

    def __call__(self, seed: int) -> tuple[Any, ...]:
        """The arguments of one call.

        Raises:
            JaxdoctorError: whatever it raises.
        """
        try:
            with _quiet():
                made = self.make(seed) if self.takes_seed else self.make()
        except (Exception, SystemExit) as error:
            raise raised(error, self.name) from error
        return made if isinstance(made, tuple) else (made,)

    def seeded(self, users: _Users, plan: RecordPlan) -> list[Any]:
        """Each replay's arguments, stacked; those that are all alike only once."""
        _insist_on_room(users, plan.replays)
        rows = [_plain_leaves(users, users.leaves)]
        for replay in range(1, plan.replays):
            leaves, structure = jax.tree.flatten(self(self.seed + replay))
            if structure != users.structure or _shapes(leaves) != _shapes(users.leaves):
                raise UsageError(
                    f"{self.name}({self.seed + replay}) returns other shapes than {self.name}({self.seed})",
                    hint="let it return arguments of the same structure, shapes and dtypes for every seed",
                )
            rows.append(_plain_leaves(users, leaves))
        stacks = [np.stack(column) for column in zip(*rows, strict=True)]
        return [stack[:1] if (stack == stack[:1]).all() else stack for stack in stacks]


def _users(plan: RecordPlan, make: _Maker) -> _Users:
    names = find_source(plan.model).load(plan.model)
    with _quiet():
        function = find(names.function)
        check = None if names.check is None else find(names.check)
    for name, found in ((names.function, function), (names.check, check)):
        if found is not None and not callable(found):
            raise UsageError(f"{name} is no function", hint="name what is called")
    if hasattr(function, "lower") and _wrote(_file(getattr(function, "__wrapped__", None))):
        raise _own_jit(names.function, f"{names.function}.__wrapped__")
    leaves, structure = jax.tree.flatten(make(plan.seed))
    return _Users(names=names, function=function, check=check, leaves=tuple(leaves), structure=structure)


def _insist_on_room(users: _Users, replays: int) -> None:
    size = sum(np.asarray(value).nbytes for value in _plain_leaves(users, users.leaves)) * replays
    if size > MOST_BYTES:
        raise UsageError(
            f"the arguments of {replays} replays take {size / 2**30:.1f} GiB",
            hint=f"give fewer --replays, or smaller arguments: {MOST_BYTES / 2**30:.0f} GiB at most",
        )


def _varied(users: _Users, plan: RecordPlan) -> list[Any]:
    """The arguments themselves, and then around them."""
    _insist_on_room(users, plan.replays)
    generator = np.random.default_rng(plan.seed)
    stacks = []
    for value in _plain_leaves(users, users.leaves):
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            stacks.append(value[None])
            continue
        stack = np.repeat(value[None], plan.replays, axis=0)
        for replay in range(1, plan.replays):
            stack[replay] = value * (1 + NOISE * generator.standard_normal(value.shape))
        stacks.append(stack)
    return stacks


def _insist_on_pure(users: _Users, values: Sequence[Any]) -> None:
    """Traces one call.

    Raises:
        NothingExaminedError: it returns nothing, prints, raises, makes its own jit, or cannot be traced.
    """
    name = users.names.function
    traced = jax.make_jaxpr(users.call, return_shape=True)
    closed, shapes = _tried(lambda: traced(list(values)), name)
    if not jax.tree.leaves(shapes):
        raise NothingExaminedError(f"{name} returns nothing", hint="let it return what should stay finite")
    for eqn in _equations(closed.jaxpr):
        if eqn.primitive.name in CALLBACKS:
            raise NothingExaminedError(
                f"{name} prints, or calls Python from its program, at {place_of(eqn)}",
                hint="probe a function without it: what is replayed is the program alone",
            )
        if eqn.primitive.name in JITTED and _is_own(eqn):
            raise _own_jit(f"{name}, at {place_of(eqn)},", "one without jax.jit: it is compiled as a whole")
    if users.check is not None:
        _tried(lambda: jax.eval_shape(_judged(users), shapes), str(users.names.check))
    floating = [leaf for leaf in jax.tree.leaves(shapes) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    if users.check is None and not floating:
        raise NothingExaminedError(
            f"{name} returns no floating number", hint="say with --check module:is_bad which output is bad"
        )


def _tried(call: Callable[[], Any], name: str) -> Any:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            answer = call()
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise NothingExaminedError(
            f"{name} cannot be traced: {first_line(error)}", hint=raised(error, name).hint
        ) from error
    except (Exception, SystemExit) as error:
        raise raised(error, name) from error
    if said.getvalue():
        raise NothingExaminedError(
            f"{name} prints {said.getvalue().strip()[:MOST_QUOTED]!r}",
            hint="take the print out, or probe a function without it",
        )
    return answer


def _own_jit(name: str, inner: str) -> NothingExaminedError:
    return NothingExaminedError(f"{name} makes its own jit", hint=f"name {inner}")


def _is_own(eqn: Any) -> bool:
    """Whether the jitted function is written by the user, not by a library or by JAX."""
    return any(_wrote(source_file(inner)) for inner in inner_jaxprs(eqn))


def _wrote(file: str) -> bool:
    """Whether the user did."""
    return bool(file) and is_users(file) and not any(each in file for each in PACKAGES)


def _equations(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in inner_jaxprs(eqn):
            yield from _equations(inner)


def _simulation(users: _Users, stacks: Sequence[Any]) -> Simulation:
    parameters = [_in_precision(stack) for stack in stacks]

    def step(parameters: Any, state: Any, control: Any) -> Any:
        del control
        # Every argument is taken by replay, also what all share: one call's products keep their sizes.
        values = [stack[jnp.minimum(state[REPLAY], stack.shape[0] - 1)] for stack in parameters]
        output = users.call(values)
        leaves = dict(
            zip(leaf_names({OUTPUT: output}), map(jnp.asarray, jax.tree.leaves(output)), strict=True)
        )
        if users.check is not None:
            bad = _judged(users)(output)
            leaves = {
                name: jnp.where(bad, jnp.nan, leaf).astype(leaf.dtype) if _inexact(leaf) else leaf
                for name, leaf in leaves.items()
            }
            leaves[CHECK] = jnp.where(bad, jnp.nan, 0.0).astype(jnp.float32)
        return {REPLAY: state[REPLAY], **leaves}

    shapes = jax.eval_shape(
        lambda parameters, replay: step(parameters, {REPLAY: replay}, None), parameters, jnp.int32(0)
    )
    blank = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in shapes.items()}
    floating = tuple(
        name for name, leaf in blank.items() if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size
    )
    outputs = tuple(name for name in floating if name != CHECK) or floating
    return Simulation(
        step=step,
        parameters=parameters,
        blank=blank,
        controls=0,
        carried=(REPLAY, *floating),
        state=outputs,
        coordinates=outputs[0],
        pipeline=(CHECK, *outputs),
        seconds=1.0,
    )


def _judged(users: _Users) -> Callable[[Any], Any]:
    check = users.check
    assert check is not None
    return lambda output: jnp.asarray(check(output)).astype(bool).any()


def _in_precision(stack: Any) -> jax.Array:
    """Single and double numbers in the precision of this process; all others as they are."""
    if stack.dtype in (np.float32, np.float64):
        return jnp.asarray(stack, jnp.asarray(0.0).dtype)
    return jnp.asarray(stack)


def _inexact(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, jax.Array | float):
        return True
    return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind not in "OUS"


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _as_given(value: Any, leaf: Any) -> Any:
    """An array as the function takes it: random keys under their own type."""
    return jax.random.wrap_key_data(value, impl=jax.random.key_impl(leaf)) if _is_key(leaf) else value


def _plain_leaves(users: _Users, leaves: Sequence[Any]) -> list[Any]:
    chosen = [leaves[index] for index in users.dynamic]
    return [np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf) for leaf in chosen]


def _shapes(leaves: Sequence[Any]) -> list[Any]:
    return [
        (np.shape(leaf), getattr(leaf, "dtype", type(leaf))) if _is_array(leaf) else None for leaf in leaves
    ]


def _file(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    return "" if code is None else str(code.co_filename)


def _positional(make: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return []
    taken = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in taken]


def _quiet() -> contextlib.redirect_stdout[io.StringIO]:
    """What an import or the making of arguments prints is of no account."""
    return contextlib.redirect_stdout(io.StringIO())


SYSTEM = System(record=_record, load=_load)
