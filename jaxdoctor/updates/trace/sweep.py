"""Every transform that the installed optax exports, built with arguments that can be guessed."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import JaxdoctorError, MissingExtraError, NothingExaminedError
from jaxdoctor.facts.parameters import parse
from jaxdoctor.facts.signature import Signature
from jaxdoctor.programs.named import first_line
from jaxdoctor.updates.trace.run import is_x64, refusal, sign
from jaxdoctor.updates.trace.target import Traced, of_transform
from jaxdoctor.updates.trace.weights import params_tree
from jaxdoctor.workers.progress import Progress

PARAMETERS = parse("w=float32[8,4],b=float32[4]")
DTYPES = ("float32", "bfloat16", "float16")
MODULES = ("optax", "optax.contrib")

EXAMPLES = 2
"""The length of the batch axis, for transforms that want one gradient for each example."""

PER_EXAMPLE = {"differentially_private_aggregate", "dpsgd"}


def sweep(dtypes: Sequence[str], *, progress: Progress) -> list[Signature]:
    """One signature for each transform and dtype; of what cannot be built, one that says why.

    Raises:
        MissingExtraError: optax is not installed.
    """
    found = list(transforms())
    progress.stage("tracing optax", len(found))
    signatures: list[Signature] = []
    for done, (name, factory) in enumerate(found):
        signatures += [_signed(name, factory, dtype) for dtype in dtypes or DTYPES]
        progress.reached(done + 1)
    return signatures


def transforms() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The factories of transforms, by the names that users import them by."""
    try:
        modules = [importlib.import_module(name) for name in MODULES]
    except ImportError as error:
        raise MissingExtraError("the sweep over optax", extra="optax") from error
    for module in modules:
        for name in sorted(vars(module)):
            factory = getattr(module, name)
            if name[0] != "_" and callable(factory) and (name in recipes() or _makes_transforms(factory)):
                yield f"{module.__name__}.{name}", factory


def _makes_transforms(factory: Any) -> bool:
    if inspect.isclass(factory):
        return False
    try:
        promised = inspect.signature(factory).return_annotation
    except (TypeError, ValueError):
        return False
    return "GradientTransformation" in str(promised)


def _signed(name: str, factory: Callable[..., Any], dtype: str) -> Signature:
    make = functools.partial(_subject, name.rpartition(".")[2], factory, dtype)
    try:
        return replace(sign(make, name), params_dtype=dtype)
    except JaxdoctorError as error:
        return replace(refusal(name, error), params_dtype=dtype, x64=is_x64())


def _subject(name: str, factory: Callable[..., Any], dtype: str) -> Traced:
    params = params_tree(PARAMETERS, dtype)
    if name == "lookahead":
        import optax  # noqa: PLC0415 (its own container for fast and slow parameters)

        params = optax.LookaheadParams.init_synced(params)
    subject = of_transform(build(name, factory), params)
    if name in PER_EXAMPLE:
        batch = jax.tree.map(lambda leaf: jnp.zeros((EXAMPLES, *leaf.shape), leaf.dtype), params)
        return replace(subject, args=(batch, params))
    fast = params.fast if name == "lookahead" else params
    return replace(subject, args=(fast, params))


def build(name: str, factory: Callable[..., Any]) -> Any:
    """The transform.

    Raises:
        NothingExaminedError: it needs an argument that cannot be guessed, or refuses the guesses.
    """
    recipe = recipes().get(name)
    if recipe is not None:
        return recipe(factory)
    guesses = values()
    needed = [
        each.name
        for each in inspect.signature(factory).parameters.values()
        if (each.default is each.empty or each.name == "learning_rate")
        and each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}
    ]
    unknown = [each for each in needed if each not in guesses]
    if unknown:
        raise NothingExaminedError(
            f"{name} needs {', '.join(unknown)}, which cannot be guessed",
            hint="check it with a target of your own",
        )
    try:
        return factory(**{each: guesses[each] for each in needed})
    except Exception as error:
        raise NothingExaminedError(
            f"{name} raises {first_line(error)}", hint="check it with a target of your own"
        ) from error


def _unchanged(updates: Any, params: Any = None) -> Any:  # noqa: ARG001 (the signature that optax calls)
    return updates


@functools.cache
def values() -> Mapping[str, Any]:
    """A typical value for each name of an argument."""
    import optax  # noqa: PLC0415 (the caller has said what is missing if it is)

    inner = optax.sgd(0.1, momentum=0.9)
    numbers = {
        "learning_rate": 1e-3, "clipping": 0.01, "eta": 0.01, "gamma": 0.55, "max_delta": 1.0,
        "threshold": 1.0, "max_norm": 1.0, "decay": 0.9, "step_size": 0.1, "max_consecutive_errors": 3,
        "sync_period": 5,
        "slow_step_size": 0.5, "max_backtracking_steps": 5, "max_linesearch_steps": 5, "l2_norm_clip": 1.0,
        "noise_multiplier": 1.0, "seed": 0,
    }  # fmt: skip
    return {
        **numbers,
        **dict.fromkeys(("inner", "tx", "opt", "fast_optimizer", "optimizer", "base_optimizer"), inner),
        "adv_optimizer": optax.chain(optax.contrib.normalize(), optax.sgd(0.05)),
        "step_size_fn": optax.linear_schedule(1e-3, 1e-4, 100),
        "should_transform_fn": lambda step, **_: step % 2 == 0,
        "should_update_fn": lambda step: step % 2 == 0,
        "mask": True,
        "freeze_mask": {"w": False, "b": True},
        "transforms": {"a": inner, "b": optax.adam(1e-3)},
        "param_labels": {"w": "a", "b": "b"},
        "f": _unchanged,
        "measure": optax.global_norm,
        "measure_name": "norm",
        "measures": {"norm": optax.global_norm},
    }


@functools.cache
def recipes() -> Mapping[str, Callable[[Any], Any]]:
    """How to build what does not promise a transform in its annotation, or takes them one after the other."""
    import optax  # noqa: PLC0415 (the caller has said what is missing if it is)

    schedule = optax.linear_schedule(1e-3, 1e-4, 100)

    def called(factory: Any) -> Any:
        return factory()

    return {
        "chain": lambda factory: factory(optax.clip(1.0), optax.trace(0.9), optax.scale(-0.1)),
        "named_chain": lambda factory: factory(("clip", optax.clip(1.0)), ("trace", optax.trace(0.9))),
        "inject_hyperparams": lambda factory: factory(optax.adam)(learning_rate=schedule),
        "inject_stateful_hyperparams": lambda factory: factory(optax.adam)(learning_rate=schedule),
        "MultiSteps": lambda factory: factory(optax.adam(1e-3), 4).gradient_transformation(),
        "monitor": lambda factory: factory({"norm": optax.global_norm}),
        "scale_by_factored_rms": called,
        "dog": called,
        "dowg": called,
        "hutchinson_estimator_diag_hessian": called,
    }
