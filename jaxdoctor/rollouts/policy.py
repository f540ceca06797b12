"""The contract of `policies/`: what drives an environment, read from a checkpoint or made from a seed.

The command reads (`read_policy`): with our own readers, nothing in a file is executed, and only plain values
go on. A worker builds (`build_policy`), perhaps in the Python in which the user trains: it makes the network
of JAX alone, and runs code of the user's only where a function was named.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jaxdoctor.errors import UsageError
from jaxdoctor.registry import Folder
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.storage.steps import step_of


class Act(NamedTuple):
    """What a policy made of one observation."""

    normalised: Any
    """The part of the observation that the network reads, after the normaliser."""

    output: Any
    """The network's output as it is: for a distribution its parameters, in one row."""

    action: Any
    """What the environment is given: actions, or an integer where it takes one of several."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What a normaliser knows of the observations of training."""

    mean: Any
    """A NumPy array of the observation's shape."""

    std: Any
    """Its standard deviation, of the same shape."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy that can be traced."""

    apply: Callable[[Any, Any, Any], Act]
    """`apply(parameters, observation, key) -> Act` of one observation: pure, to be vmapped. An observation is
    an array, or a dictionary of arrays of which the network reads one. The key is used where the policy draws
    its actions. Everything in it is traced below `jax.named_scope(POLICY_SCOPE)`, by which its products are
    named.
    """

    parameters: Any
    """A pytree of arrays in the precision of this process: statistics and weights."""

    statistics: Statistics | None
    """Of the part of the observation that the network reads; None: it is not normalised, or by a function of
    the user's that does not tell.
    """

    name: str
    """What a report calls it."""

    observation_size: Any
    """The numbers of an observation, or a dictionary of them, as the environment has it."""

    action_size: int
    observation_key: str | None = None
    """Which of several observations the network reads; None: there is one, or it reads them all."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What the environment has."""

    observation: Any
    """The numbers of an observation: an integer, a shape, or a dictionary of such."""

    action: int
    discrete: bool = False
    """Whether an action is one of `action` choices, an integer."""


@dataclass(frozen=True, kw_only=True)
class PolicyKind:
    """One way in which a policy is given."""

    accepts: Callable[[str | None, str | None], bool]
    """Whether `--policy` and `--network` are meant for it, told without reading arrays."""

    read: Callable[[str | None, str | None], SavedPolicy]
    """What they name, read by the command.

    Raises:
        UsageError: what is named does not exist, or a part of it is missing.
        UnreadableError: it is damaged.
    """

    build: Callable[[SavedPolicy, Sizes, int, bool], Policy]
    """`build(saved, sizes, seed, stochastic)`: its network, in a worker.

    Raises:
        UsageError: it is of another size than the environment; both are named.
    """

    check: Callable[[SavedPolicy], None] | None = None
    """Whether the arrays are those of its network, as far as it is told without JAX. None: it has no arrays.

    Raises:
        UsageError, UnreadableError: they are not, or something is missing.
    """

    order: int = 50
    """Kinds are asked in this order."""


MOST_NAMES = 1000
"""Entries of a folder that are looked at."""

POLICIES = Folder("jaxdoctor.rollouts.policies", PolicyKind, noun="kind of policy")


def read_policy(argument: str | None, network: str | None = None) -> SavedPolicy:
    """What `--policy` and `--network` name, as plain values. Imports neither JAX nor code of the user's.

    Raises:
        UsageError: nothing reads it, or a part of it is missing.
        UnreadableError: it is damaged.
    """
    kinds = sorted(POLICIES.load_all(), key=lambda kind: kind.order)
    for kind in kinds:
        if kind.accepts(argument, network):
            return kind.read(argument, network)
    path = Path(argument or "")
    if not path.exists():
        raise UsageError(f"there is no file or folder {path}", hint="write the path as seen from this folder")
    for inner in _newest_first(path):
        if any(kind.accepts(str(inner), network) for kind in kinds):
            raise UsageError(
                f"{path} is a folder of policies, and one is replayed", hint=f"name it, such as {inner}"
            )
    raise UsageError(
        f"{argument} is no policy that can be read",
        hint="name a Brax checkpoint folder, a file of Brax's save_params, or package.module:policy; for any "
        "other tree of weights also say --network module:function",
    )


def _newest_first(folder: Path) -> list[Path]:
    """What stands in a run's folder, the largest step first; nothing of a file."""
    if not folder.is_dir():
        return []
    found = itertools.islice(folder.iterdir(), MOST_NAMES)
    return sorted(found, key=lambda path: (step_of(path) or 0, path.name), reverse=True)


def build_policy(saved: SavedPolicy, sizes: Sizes, *, seed: int = 0, stochastic: bool = False) -> Policy:
    """The policy for an environment of these sizes, with its weights in the precision of this process.

    Args:
        saved: what `read_policy` has read.
        sizes: of the environment's observations and actions.
        seed: of the weights of a random policy.
        stochastic: whether actions are drawn, as in training; else each is the most likely one.

    Raises:
        UsageError: the policy is of another size; both are named.
        NothingExaminedError: a function of the user's raises.
    """
    return POLICIES.load(saved.kind).build(saved, sizes, seed, stochastic)


def load_policy(
    argument: str | None,
    network: str | None,
    observation_size: int | Mapping[str, Any],
    action_size: int,
    seed: int,
) -> Policy:
    """Reads and builds in one process; None for the argument is a random policy by this seed.

    Raises:
        UsageError, UnreadableError, NothingExaminedError: as for `read_policy` and `build_policy`.
    """
    sizes = Sizes(observation=observation_size, action=action_size)
    return build_policy(read_policy(argument, network), sizes, seed=seed)
