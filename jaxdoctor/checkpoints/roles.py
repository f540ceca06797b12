"""Tells what each leaf is for, from its path, its dtype and its shape."""

from __future__ import annotations

import fnmatch
import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.counter import OPTIMIZERS, PAIRS, counted
from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.leaf import FIRST_MOMENTS, SECOND_MOMENTS, Leaf, Role, words


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOST_DEVICES = 256
"""A counter with a longer axis than a host has devices is an array of something else."""

KEYS = _names(
    "rng rngs key keys prng prng_key prngkey rng_key random_key jax_random_key key_data rng_state seed "
    "dropout_rng params_rng"
)
"""Names of PRNG keys. A float of that name is a layer of attention."""

KEY_WORDS = (2, 4)
"""The last axis of a key's data: two words for threefry2x32, four for rbg."""

COUNTERS = _names(
    "count counts step steps global_step global_steps env_step env_steps num_env_steps gradient_step "
    "gradient_steps mini_step timestep timesteps num_timesteps n_updates num_updates updates update_step "
    "update_steps iteration iterations iter iters epoch epochs episode episodes total_steps num_steps "
    "notfinite_count total_notfinite steps_since_sync num_batches_tracked dagger_step step_count "
    "learner_step learner_steps actor_step actor_steps frames num_frames samples num_samples samples_seen "
    "tokens tokens_seen num_tokens num_input_tokens_seen total_weights last_epoch _step_count n_iter "
    "num_iterations train_step train_steps dagger_steps interaction_steps environment_steps t"
)
"""Names that training loops, Brax, Optax, Flax, T5X, MaxText, Acme, PureJaxRL and torch give to counts."""

COUNTED_ENDINGS = ("_step", "_steps", "_count", "_counter", "_updates", "_iterations", "_samples", "_tokens")

SETTINGS = _names(
    "max min warmup decay transition save eval logging log interval every per horizon period rate "
    "unroll rollout target size buffer"
)
"""A name with one of these in it is a setting, such as warmup_steps."""

STATISTICS = _names(
    "batch_stats running_mean running_var running_statistics normalizer normalizer_params obs_rms ret_rms "
    "obs_normalizer reward_normalizer mean std var variance summed_variance std_eps ema"
)
METRICS = _names(
    "metrics metric loss losses best_metric log_history reward rewards returns best_model_score "
    "current_score best_score best_loss"
)
METRIC_ENDINGS = ("_loss", "_reward", "_return", "_accuracy")
OPTIMIZER_NAMES = OPTIMIZERS | _names(
    "optimizer_states optim_state optimizers optimizer_state_dict param_states policy_optimizer_state "
    "q_optimizer_state alpha_optimizer_state value_optimizer_state mu nu exp_avg exp_avg_sq "
    "max_exp_avg_sq momentum_buffer square_avg trainer_optimizer"
)
MOMENTS = FIRST_MOMENTS | SECOND_MOMENTS
HALVES = frozenset({*PAIRS, *PAIRS.values()})
WORD = re.compile(r"[_\-]+")


@dataclass(frozen=True)
class Assignment:
    """One `--role PATTERN=ROLE`."""

    pattern: str
    """As a shell would match a leaf's path: "state/*/visits"."""

    role: Role


def assignment(text: str) -> Assignment:
    """What the user wrote behind `--role`.

    Raises:
        UsageError: it is no PATTERN=ROLE.
        UnknownNameError: there is no such role.
    """
    pattern, equals, name = text.rpartition("=")
    if not equals or not pattern:
        raise UsageError(
            f"--role {text!r} names no role", hint="write PATTERN=ROLE, as in '*/visits=counter'"
        )
    return Assignment(pattern, role_named(name))


def role_named(name: str) -> Role:
    """The role a user means; "param" and "stat" are short for the long words.

    Raises:
        UnknownNameError: there is no such role.
    """
    wanted = name.strip().lower()
    for role in Role:
        if wanted == role.value or (len(wanted) >= len("key") and role.value.startswith(wanted)):
            return role
    raise UnknownNameError("role", name, [role.value for role in Role])


def expected_dtype(text: str) -> tuple[Role, str]:
    """What the user wrote behind `--expect-dtype`.

    Raises:
        UsageError: it is no ROLE=DTYPE.
        UnknownNameError: there is no such role.
    """
    name, equals, dtype = text.partition("=")
    if not equals or dtype_named(dtype.strip()).kind == "other":
        raise UsageError(
            f"--expect-dtype {text!r} names no dtype", hint="write ROLE=DTYPE, as in parameter=float32"
        )
    return role_named(name), dtype.strip()


def role_of(leaf: Leaf, assigned: Sequence[Assignment] = ()) -> Role:
    """What the leaf is for: as assigned, as its reader knew, or as its path, dtype and shape say."""
    for one in assigned:
        if fnmatch.fnmatchcase(leaf.path, one.pattern):
            return one.role
    if leaf.role is not Role.OTHER:
        return leaf.role
    return _inferred(leaf.path, leaf.dtype, leaf.shape)


@functools.lru_cache(maxsize=1 << 16)
def _inferred(path: str, dtype: str, shape: tuple[int, ...]) -> Role:
    leaf = Leaf(path=path, dtype=dtype, shape=shape)
    names = frozenset(words(path))
    if _is_key(leaf, names):
        return Role.KEY
    if _is_counter(leaf, names):
        return Role.COUNTER
    if leaf.size == 1 and (names & METRICS or counted(path).endswith(METRIC_ENDINGS)):
        return Role.METRIC
    return _role_of_array(leaf, words(path))


def _is_key(leaf: Leaf, names: frozenset[str]) -> bool:
    if leaf.dtype.startswith("key<"):
        return True
    if counted(leaf.path) in COUNTERS:
        return False
    words_of_key = bool(leaf.shape) and leaf.shape[-1] in KEY_WORDS
    if leaf.dtype == "uint32":
        return words_of_key or bool(names & KEYS)
    return leaf.dtype == "uint8" and bool(names & KEYS)


def _is_counter(leaf: Leaf, names: frozenset[str]) -> bool:
    """Whether it is a scalar, once or once for each device, that is named as a count."""
    if leaf.size > MOST_DEVICES or len(leaf.shape) > 1 or not leaf.size:
        return False
    if leaf.type.kind not in {"int", "uint", "float"} or _is_setting(counted(leaf.path)):
        return False
    if words(leaf.path)[-2:] == ("vars", "0"):
        return leaf.type.integral and not leaf.shape and bool(names & OPTIMIZER_NAMES)
    if not counts_something(counted(leaf.path)):
        return _is_half(leaf)
    # A parameter or a moment that is called "t" or "count" lies deeper, and is a float array.
    return leaf.type.integral or leaf.shape in ((), (1,)) or not names & MOMENTS


def _is_half(leaf: Leaf) -> bool:
    return leaf.type.integral and leaf.path.lower().rpartition("/")[2] in HALVES - {"high", "low"}


def counts_something(name: str) -> bool:
    """Whether a leaf of that name counts."""
    return name in COUNTERS or name.endswith(COUNTED_ENDINGS) or name.startswith(("num_", "n_", "total_"))


def _is_setting(name: str) -> bool:
    return name not in COUNTERS and bool(SETTINGS & set(WORD.split(name)))


def _role_of_array(leaf: Leaf, path: tuple[str, ...]) -> Role:
    names = frozenset(path)
    floating = leaf.type.kind in {"float", "complex"}
    if _in_optimizer(path) and leaf.dtype != "unknown":
        return Role.OPTIMIZER if floating or leaf.size > 1 else Role.OTHER
    if floating and (names & STATISTICS):
        return Role.STATISTIC
    if floating and (leaf.shape or names & {"kernel", "bias", "scale", "weight"}):
        return Role.PARAMETER
    if leaf.type.kind == "other" and "params" in names and math.prod(leaf.shape) > 1:
        return Role.PARAMETER
    return Role.OTHER


def _in_optimizer(path: tuple[str, ...]) -> bool:
    """Whether the path leads through an optimizer's state; T5X keeps the parameters in its `target`."""
    if path[:2] == ("optimizer", "target") or "target" in path[:1]:
        return False
    above = set(path[:-1])
    if above & OPTIMIZER_NAMES:
        return True
    return bool(above & {"mu", "nu"}) or bool(
        path[-1:] and path[-1] in MOMENTS - {"m", "v", "trace", "momentum"}
    )
