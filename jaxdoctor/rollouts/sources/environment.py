"""An environment that a policy drives, written "--env brax:ant,backend=mjx --policy ... --network ..."."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.rollouts.named import NAME
from jaxdoctor.rollouts.source import Source

ENV, POLICY, NETWORK = "--env ", " --policy ", " --network "

BRAX, PLAYGROUND, USERS = "brax", "playground", "users"

LIKELIEST, DRAWN = "likeliest", "drawn"
"""What the policy's actions are: the likeliest of their distribution, as at inference, or drawn from it."""

ACTIONS: Mapping[str, tuple[str, ...]] = {"actions": (LIKELIEST, DRAWN)}

OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    BRAX: {"backend": ("mjx", "generalized", "positional", "spring"), **ACTIONS},
    PLAYGROUND: {"impl": ("jax", "warp"), **ACTIONS},
    USERS: ACTIONS,
}
"""What may stand behind an environment's name, and its values."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentNamed:
    """An environment and the policy that drives it, each by its name."""

    suite: str
    """"brax", "playground", or "users" for a function of the user's."""

    name: str
    """"ant", "CartpoleBalance" or "train.py:make_env"."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Those of `OPTIONS` that were given."""

    policy: str | None = None
    network: str | None = None

    @property
    def draws(self) -> bool:
        """Whether the policy draws its actions, as in training."""
        return self.options.get("actions") == DRAWN

    @property
    def shown(self) -> str:
        """As a user writes it: "playground:CartpoleBalance,impl=jax"."""
        prefix = "" if self.suite == USERS else f"{self.suite}:"
        return ",".join([f"{prefix}{self.name}", *(f"{key}={value}" for key, value in self.options.items())])


def written(environment: EnvironmentNamed) -> str:
    """The argument of `probe` that this source takes."""
    policy = "" if environment.policy is None else f"{POLICY}{environment.policy}"
    network = "" if environment.network is None else f"{NETWORK}{environment.network}"
    return f"{ENV}{environment.shown}{policy}{network}"


def environment_named(
    text: str, *, policy: str | None = None, network: str | None = None
) -> EnvironmentNamed:
    """What `--env` names.

    Raises:
        UsageError: it names neither an environment of Brax or Playground nor a function.
    """
    words, *pairs = text.split(",")
    suite, colon, name = words.partition(":")
    if suite not in (BRAX, PLAYGROUND):
        suite, name = USERS, words
        if not NAME.fullmatch(words):
            raise UsageError(
                f"{text!r} names no environment",
                hint="write brax:ant, playground:CartpoleBalance, or a function that makes one: "
                "train.py:make_env or package.module:make_env",
            )
    elif not (colon and name):
        raise UsageError(f"{text!r} names no environment", hint=f"write {suite}:NAME")
    options = dict(_option(pair, suite, text) for pair in pairs)
    return EnvironmentNamed(suite=suite, name=name, options=options, policy=policy, network=network)


def _option(pair: str, suite: str, text: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    known = OPTIONS[suite]
    if not equals or key not in known:
        if suite == USERS:
            raise UsageError(
                f"{text!r}: a function takes no options but actions=drawn", hint="set it in the function"
            )
        raise UnknownNameError(f"option of {suite}: environments", key, known)
    if value not in known[key]:
        raise UnknownNameError(key, value, known[key])
    return key, value


def _accepts(argument: str) -> bool:
    return argument.startswith(ENV)


def _load(argument: str) -> EnvironmentNamed:
    rest, _, network = argument.removeprefix(ENV).partition(NETWORK)
    text, _, policy = rest.partition(POLICY)
    return environment_named(text, policy=policy or None, network=network or None)


def _check(argument: str) -> None:
    environment = _load(argument)
    file = environment.name.rpartition(":")[0]
    if environment.suite == USERS and file.endswith(".py") and not Path(file).is_file():
        raise UsageError(f"there is no file {file}", hint="write the path as seen from this folder")


SOURCE = Source(accepts=_accepts, check=_check, system="environment", users_code=True, load=_load)
