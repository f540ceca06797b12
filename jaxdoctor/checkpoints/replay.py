"""Which checkpoints are policies that `probe` can replay in an environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdoctor.facts.leaf import Leaf

POLICIES = ("1/params/hidden_0/kernel", "1/params/MLP_0/hidden_0/kernel")
"""Where the first layer of Brax's policies stands, of one distribution or the other."""

VALUE = "2/params/"
"""Where the network of PPO's critic stands."""


def replay_of(path: Path, leaves: Sequence[Leaf], metadata: Mapping[str, Any]) -> str | None:
    """The command that replays it, with ENV for the environment; None: it is no policy of Brax's.

    Where neither a configuration nor a value network says which agent it is, that stays to be said, too.
    """
    places = {leaf.path for leaf in leaves}
    if not any(first in places for first in POLICIES):
        return None
    told = "network_config" in metadata or (path.is_file() and any(map(_of_value, places)))
    said = "" if told else " --network brax:AGENT"
    return f"jaxdoctor probe --env ENV --policy {shlex.quote(str(path))}{said}"


def _of_value(place: str) -> bool:
    return place.startswith(VALUE)
