"""Environments of every style, told apart by what their reset returns, as one pair of pure functions."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import JaxdoctorError, NothingExaminedError, UsageError
from jaxdoctor.facts.closed_loop import MJX, OWN, WARP
from jaxdoctor.programs.named import find, first_line, raised
from jaxdoctor.rollouts.sources.environment import BRAX, PLAYGROUND, EnvironmentNamed
from jaxdoctor.rollouts.suites import brax_environment, playground_environment

SHAPES = (
    "reset(key) of a state with obs, reward and done, and step(state, action), as Brax and Playground have "
    "it; reset(key, params) of (obs, state), and step(key, state, action, params) of (obs, state, reward, "
    "done, info), as gymnax has it; or a function of no arguments that returns a mujoco.MjModel or an "
    "mjx.Model"
)
"""What a function may make."""

OWN_RESETS = ("first_obs", "first_pipeline_state", "AutoResetWrapper_first_obs")
"""What the wrappers that reset by themselves keep in a state's `info`."""

MOST_QUOTED = 60
"""Of what a function prints, so many characters are quoted."""

WARP_SAYS = ("Warp ", "Module ")
"""How the lines begin that Warp prints of its kernels when they are loaded."""

SECONDS = 0.02
"""Of one step, where an environment does not tell."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One environment, without auto-reset. Everything is of one replay, to be vmapped."""

    name: str
    """As a user writes it."""

    engine: str
    """What steps the physics: "MJX", "MuJoCo Warp", "Brax generalized", or "its own"."""

    reset: Callable[[Any], Any]
    """`reset(key) -> state`, the key an array of two uint32."""

    step: Callable[[Any, Any], Any]
    """`step(state, action) -> state`."""

    observation: Callable[[Any], Any]
    """What a policy sees of a state: an array, or a dictionary of arrays."""

    reward: Callable[[Any], Any]
    done: Callable[[Any], Any]
    restarted: Callable[[Any, Any], Any]
    """`restarted(first, state) -> state`: the state with what an auto-reset puts back, from the first."""

    action_size: int
    discrete: bool = False
    """Whether an action is a number from 0 to `action_size` - 1."""

    seconds: float
    """Simulated seconds of one step."""

    model: Any = None
    """The `mujoco.MjModel` of its physics; None: there is none, or it is not told."""

    physics: str = ""
    """The leaf of the state under which the physics stands: "pipeline_state", "data"; "": all of it."""

    in_warp: bool = False
    """Whether MuJoCo Warp steps it, whose arrays are in part shared by a whole batch."""


def make(named: EnvironmentNamed) -> Any:
    """The environment, or the `mjx.Model` or `mujoco.MjModel` that a function of the user's returns.

    Raises:
        UsageError: there is no such environment, or a package is not installed.
        NothingExaminedError: it raises or prints, or is none.
    """
    if named.suite == BRAX:
        return _like_brax(brax_environment(named), named)
    if named.suite == PLAYGROUND:
        return _like_brax(playground_environment(named), named)
    # After jaxdoctor's own imports, so that no module of the user's stands in for one of them.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    with contextlib.redirect_stdout(io.StringIO()):
        function = find(named.name)
    if not callable(function):
        raise UsageError(f"{named.name} is no function", hint=f"name one that makes an environment: {SHAPES}")
    with _silent(named.name):
        made = function()
    return made if is_model(made) else _adapted(made, named)


def is_model(made: Any) -> bool:
    """Whether it is an `mjx.Model` or a `mujoco.MjModel`."""
    kind = type(made)
    return kind.__module__.partition(".")[0] == "mujoco" and kind.__name__ in {"MjModel", "Model"}


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """The user's code at work: what it raises becomes an error of ours, and so does what it prints.

    Raises:
        NothingExaminedError: it raised or printed.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            yield
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        hint = raised(error, name).hint
        raise NothingExaminedError(f"{name} cannot be traced: {first_line(error)}", hint=hint) from error
    except JaxdoctorError:
        raise
    except (Exception, SystemExit) as error:
        raise raised(error, name) from error
    if said.getvalue().strip() and not said.getvalue().startswith(WARP_SAYS):
        raise NothingExaminedError(
            f"{name} prints {said.getvalue().strip()[:MOST_QUOTED]!r}", hint="take the print out"
        )


def _adapted(made: Any, named: EnvironmentNamed) -> Environment:
    """Told apart by what reset returns."""
    environment, params = made if isinstance(made, tuple) and len(made) == 2 else (made, None)  # noqa: PLR2004
    if not callable(getattr(environment, "reset", None)) or not callable(getattr(environment, "step", None)):
        raise _unknown(named, f"returns {type(made).__name__}")
    if params is None:
        params = getattr(environment, "default_params", None)
    taken = _positional(environment.reset)
    with _silent(f"reset of {named.name}"):
        arguments = (_key(0),) if taken is not None and taken < 2 else (_key(0), params)  # noqa: PLR2004
        returned = environment.reset(*arguments)
    if isinstance(returned, tuple) and len(returned) == 2:  # noqa: PLR2004 (obs and state)
        return _like_gymnax(environment, params, len(arguments) > 1, named)
    if all(hasattr(returned, field) for field in ("obs", "reward", "done")):
        return _like_brax(environment, named)
    raise _unknown(named, f"makes an environment whose reset returns {type(returned).__name__}")


def _unknown(named: EnvironmentNamed, what: str) -> UsageError:
    return UsageError(f"{named.name} {what}, which is no environment", hint=f"it may be any of: {SHAPES}")


def _like_brax(environment: Any, named: EnvironmentNamed) -> Environment:
    name = named.shown
    with _silent(f"reset of {name}"):
        state = jax.eval_shape(environment.reset, _key(0))
    info = getattr(state, "info", None) or {}
    if any(field in info for field in OWN_RESETS):
        raise NothingExaminedError(
            f"{name} makes an environment that resets by itself",
            hint="return the one under its auto-reset wrapper: NaN is seen only without resets",
        )
    if jnp.shape(state.done):
        raise NothingExaminedError(
            f"{name} makes a batch of environments, for done has the shape {jnp.shape(state.done)}",
            hint="return the one under its vmap wrapper: batches are made here",
        )
    with _silent(f"the size of an action of {name}"):
        size = _action_size(environment, None, name)
    physics = next((field for field in ("pipeline_state", "data") if hasattr(state, field)), "")

    def restarted(first: Any, state: Any) -> Any:
        parts = {part: getattr(first, part) for part in (physics, "obs") if part}
        return with_fields(state, parts)

    model = _mj_model(environment)
    engine, in_warp = _engine(environment, state, model)
    return Environment(
        name=name,
        engine=engine,
        reset=environment.reset,
        step=environment.step,
        observation=lambda state: state.obs,
        reward=lambda state: state.reward,
        done=lambda state: state.done,
        restarted=restarted,
        action_size=size[0],
        discrete=size[1],
        seconds=_seconds(environment),
        model=model,
        physics=physics,
        in_warp=in_warp,
    )


def with_fields(state: Any, fields: dict[str, Any]) -> Any:
    """The state with some fields given other values, whether it is a named tuple or a dataclass."""
    if hasattr(state, "_replace"):
        return state._replace(**fields)
    return state.replace(**fields) if hasattr(state, "replace") else dataclasses.replace(state, **fields)


def _like_gymnax(environment: Any, params: Any, takes_params: bool, named: EnvironmentNamed) -> Environment:
    """Gymnax's own `reset` and `step` are wrappers that reset by themselves; what is under them is taken."""
    name = named.shown
    reset = getattr(environment, "reset_env", None) or environment.reset
    step = getattr(environment, "step_env", None) or environment.step
    more = (params,) if takes_params else ()

    def begun(key: Any) -> dict[str, Any]:
        seen, state = reset(key, *more)
        zero = jnp.float32(0)
        return {"key": key, "state": state, "obs": seen, "reward": zero, "done": jnp.asarray(False)}

    def stepped(now: dict[str, Any], action: Any) -> dict[str, Any]:
        following, key = jax.random.split(now["key"])
        returned = step(key, now["state"], action, *more)
        if not isinstance(returned, tuple) or len(returned) != 5:  # noqa: PLR2004
            raise UsageError(
                f"step of {name} does not return (obs, state, reward, done, info)",
                hint=f"it may be: {SHAPES}",
            )
        seen, state, reward, done, _ = returned
        return {"key": following, "state": state, "obs": seen, "reward": reward, "done": done}

    with _silent(f"the size of an action of {name}"):
        size = _action_size(environment, params, name)
    return Environment(
        name=name,
        engine=OWN,
        reset=begun,
        step=stepped,
        observation=lambda state: state["obs"],
        reward=lambda state: state["reward"],
        done=lambda state: state["done"],
        restarted=lambda first, state: {**state, "state": first["state"], "obs": first["obs"]},
        action_size=size[0],
        discrete=size[1],
        seconds=_seconds(environment),
        physics="state",
    )


def _action_size(environment: Any, params: Any, name: str) -> tuple[int, bool]:
    """How many numbers an action has, or how many choices there are.

    Raises:
        UsageError: the environment does not tell.
    """
    if isinstance(size := getattr(environment, "action_size", None), int):
        return size, False
    space: Any = getattr(environment, "action_space", None)
    if callable(space):
        space = space(params) if _positional(space) != 0 else space()
    if hasattr(space, "n"):
        return int(space.n), True
    if hasattr(space, "shape"):
        return int(jnp.zeros(space.shape).size), False
    if isinstance(size := getattr(environment, "num_actions", None), int):
        return size, True
    raise UsageError(
        f"{name} makes an environment that does not say how many numbers an action has",
        hint="give it an attribute action_size, or action_space as gymnax has it",
    )


def _seconds(environment: Any) -> float:
    with contextlib.suppress(Exception):
        return float(environment.dt)
    return SECONDS


def _mj_model(environment: Any) -> Any:
    with contextlib.suppress(Exception):
        return environment.mj_model
    with contextlib.suppress(Exception):
        return environment.sys.mj_model
    return None


def _engine(environment: Any, state: Any, model: Any) -> tuple[str, bool]:
    data = getattr(state, "data", None)
    if type(getattr(data, "_impl", None)).__name__ == "DataWarp":
        return WARP, True
    backend = None
    with contextlib.suppress(Exception):
        backend = environment.backend
    if backend is not None and backend != "mjx":
        return f"Brax {backend}", False
    steps_mjx = backend == "mjx" or model is not None or hasattr(data, "qpos")
    return (MJX if steps_mjx else OWN), False


def _key(seed: int) -> jax.Array:
    return jax.random.PRNGKey(seed)


def _positional(function: Callable[..., Any]) -> int | None:
    """How many arguments it can be given by position; None: that is not told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return None
    taken = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in taken for each in parameters)
