"""A network of the user's, with weights that were read, or a whole policy of the user's. Runs their code."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.facts.closed_loop import POLICY_SCOPE
from jaxdoctor.programs.named import find, first_line, raised
from jaxdoctor.rollouts.networks.distributions import choice, tanh_normal
from jaxdoctor.rollouts.policy import Act, Policy, Sizes
from jaxdoctor.rollouts.saved_policy import SavedPolicy

VARIABLES = ("params", "batch_stats", "constants")
"""Collections of flax's that a module reads."""

WITH_PARAMETERS, WITHOUT = 2, 1
"""Arguments that a function takes at least: with weights, and without."""


def network_policy(saved: SavedPolicy, tree: Any, sizes: Sizes, *, stochastic: bool) -> Policy:
    """The policy of a tree of weights and the function, or the flax module, that computes with it.

    Args:
        saved: what was read; its `network` names the function.
        tree: the weights as JAX arrays, in dictionaries and lists.
        sizes: of the environment.
        stochastic: whether actions are drawn.

    Raises:
        UsageError: there is no such function, or its output is not of the size of the environment's actions.
        NothingExaminedError: it raises, or cannot be traced.
    """
    assert saved.network is not None
    found = _made(saved.network, WITH_PARAMETERS)
    if not _is_module(found):
        return _policy(saved, found, tree, sizes, stochastic=stochastic, name=saved.network)
    module, variables = found, _variables(tree)

    def call(parameters: Any, observation: Any) -> Any:
        return module.apply(parameters, observation)

    return _policy(saved, call, variables, sizes, stochastic=stochastic, name=saved.network)


def whole_policy(saved: SavedPolicy, sizes: Sizes, *, stochastic: bool) -> Policy:
    """The policy that a function of an observation, and of a key perhaps, is.

    Raises:
        UsageError, NothingExaminedError: as for `network_policy`.
    """
    assert saved.network is not None
    found = _made(saved.network, WITHOUT)
    takes_key = _positional(found) > WITHOUT

    def call(parameters: Any, observation: Any, key: Any) -> Any:
        del parameters
        return found(observation, key) if takes_key else found(observation)

    return _policy(saved, call, {}, sizes, stochastic=stochastic, name=saved.network)


def _made(name: str, least: int) -> Any:
    """What the name stands for; a function of no arguments is called for it."""
    # After jaxdoctor's own imports, so that no module of the user's stands in for one of them.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    with contextlib.redirect_stdout(io.StringIO()):
        found = find(name)
        if not _is_module(found) and callable(found) and _positional(found) == 0:
            try:
                found = found()
            except (Exception, SystemExit) as error:
                raise raised(error, name) from error
    if not _is_module(found) and (not callable(found) or _positional(found) < least):
        wanted = "(parameters, observation)" if least == WITH_PARAMETERS else "(observation)"
        raise UsageError(
            f"{name} is no network of {wanted}",
            hint=f"let it take {wanted}, or return such a function or a flax module",
        )
    return found


def _is_module(found: Any) -> bool:
    """Whether it is a module of flax's, whose weights are given to `apply`."""
    return not isinstance(found, type) and callable(getattr(found, "apply", None))


def _positional(function: Callable[..., Any]) -> int:
    """How many arguments it takes at most; as many as may be where that cannot be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return WITH_PARAMETERS + 1
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return WITH_PARAMETERS + 1
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        each.kind in named and (each.default is each.empty or each.name == "key") for each in parameters
    )


def _variables(tree: Any) -> Any:
    """What flax's `apply` takes: the tree itself, or that of the training state that was saved."""
    if not isinstance(tree, Mapping) or "params" not in tree:
        return {"params": tree}
    inner = tree["params"]
    if isinstance(inner, Mapping) and "params" in inner:
        return dict(inner)
    return {name: tree[name] for name in VARIABLES if name in tree}


def _policy(
    saved: SavedPolicy, function: Any, parameters: Any, sizes: Sizes, *, stochastic: bool, name: str
) -> Policy:
    takes_key = _positional(function) > WITH_PARAMETERS

    def apply(parameters: Any, observation: Any, key: Any) -> Act:
        with jax.named_scope(POLICY_SCOPE):
            given = (key,) if takes_key else ()
            output = function(parameters, observation, *given)
            raw, action = _acted(output, sizes, key, name, stochastic=stochastic)
            return Act(observation, raw, action)

    _tried(apply, parameters, sizes, name)
    return Policy(
        apply=apply,
        parameters=parameters,
        statistics=None,
        name=saved.name,
        observation_size=sizes.observation,
        action_size=sizes.action,
    )


def _tried(apply: Callable[..., Any], parameters: Any, sizes: Sizes, name: str) -> None:
    """Traces one call, so that what does not fit is told now."""
    struct: Any = jax.ShapeDtypeStruct
    observation = _struct(sizes.observation)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            jax.eval_shape(apply, parameters, observation, struct((2,), jnp.uint32))
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise NothingExaminedError(
            f"{name} cannot be traced: {first_line(error)}", hint=raised(error, name).hint
        ) from error
    except (Exception, SystemExit) as error:
        raise raised(error, f"{name} for an observation of {_shown(sizes.observation)}") from error


def _struct(size: Any) -> Any:
    if isinstance(size, Mapping):
        return {key: _struct(inner) for key, inner in size.items()}
    shape = (size,) if isinstance(size, int) else tuple(size)
    return jax.ShapeDtypeStruct(shape, jnp.asarray(0.0).dtype)  # type: ignore[no-untyped-call]


def _shown(size: Any) -> str:
    if isinstance(size, Mapping):
        return ", ".join(f"{key}: {_shown(inner)}" for key, inner in size.items())
    return str(size) if isinstance(size, int) else "x".join(map(str, size))


def _acted(output: Any, sizes: Sizes, key: Any, name: str, *, stochastic: bool) -> tuple[Any, Any]:
    """The output as numbers, and the action that it is or stands for.

    A pair is an action, or its distribution, with a value or with what Brax calls extras. A distribution, as
    those of distrax, has a mode and samples. Twice as many numbers as actions are what Brax's networks give.
    """
    if isinstance(output, tuple | list) and output:
        output = output[0]
    if callable(getattr(output, "mode", None)) and callable(getattr(output, "sample", None)):
        drawn = output.sample(seed=key) if stochastic else output.mode()
        return drawn, _checked(jnp.asarray(drawn), sizes, name)
    raw = jnp.asarray(output)
    if raw.shape == (2 * sizes.action,) and not sizes.discrete:
        return raw, tanh_normal(raw, key, stochastic=stochastic)
    if sizes.discrete and raw.shape == (sizes.action,) and jnp.issubdtype(raw.dtype, jnp.floating):
        return raw, choice(raw, key, stochastic=stochastic)
    return raw, _checked(raw, sizes, name)


def _checked(action: Any, sizes: Sizes, name: str) -> Any:
    if sizes.discrete and action.size == 1 and jnp.issubdtype(action.dtype, jnp.integer):
        return action.reshape(())
    if not sizes.discrete and action.size == sizes.action:
        return action.reshape(sizes.action)
    wanted = f"one of {sizes.action} choices" if sizes.discrete else f"{sizes.action} actions"
    raise UsageError(
        f"{name} gives {action.dtype.name} of the shape {list(action.shape)}, and the environment takes "
        f"{wanted}",
        hint="let it return an action, or a mean and a standard deviation before softplus for each, as "
        "Brax's networks do"
        if not sizes.discrete
        else "let it return an integer, or a number for each choice",
    )
