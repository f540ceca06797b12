"""A policy that is a function of the user's: "package.module:policy" or "file.py:policy"."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.named import NAME
from jaxdoctor.rollouts.policy import Policy, PolicyKind, Sizes
from jaxdoctor.rollouts.saved_policy import SavedPolicy


def _accepts(argument: str | None, network: str | None) -> bool:
    del network
    return argument is not None and NAME.fullmatch(argument) is not None and not Path(argument).exists()


def _read(argument: str | None, network: str | None) -> SavedPolicy:
    assert argument is not None
    if network is not None:
        raise UsageError(
            f"{argument} is a policy already, and --network {network} another",
            hint="leave --network out, or name the checkpoint with --policy",
        )
    file = argument.rpartition(":")[0]
    if file.endswith(".py") and not Path(file).is_file():
        raise UsageError(f"there is no file {file}", hint="write the path as seen from this folder")
    return SavedPolicy(kind="function", name=argument, network=argument)


def _build(saved: SavedPolicy, sizes: Sizes, seed: int, stochastic: bool) -> Policy:
    del seed
    from jaxdoctor.rollouts.networks.users_policy import whole_policy

    return whole_policy(saved, sizes, stochastic=stochastic)


KIND = PolicyKind(accepts=_accepts, read=_read, build=_build, order=60)
