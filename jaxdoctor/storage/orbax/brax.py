"""How Brax and Playground save: an Orbax tree of (normaliser, policy, value) beside the network's config.

https://github.com/google/brax/blob/main/brax/training/checkpoint.py
"""

from __future__ import annotations

from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.orbax.places import TREE, is_item

CONFIG = "_network_config.json"
"""How the names of Brax's config files end: ppo_, sac_, bc_."""

RUN_CONFIG = "config.json"
"""What the saver calls it unless a trainer says more; Playground keeps one for the whole run."""

LARGEST_CONFIG = 1 << 20
"""Bytes of a config at most."""

NORMALISER = (b"\"('0', 'count'", b"\"('0', 'summed_variance'", b"\"('0', 'std'")
"""Keys of a tree whose first element is Brax's running statistics, as Playground's notebooks save it too."""

HEAD = 1 << 16
"""Bytes of the tree's metadata in which those keys are looked for."""


def is_brax(found: Candidate) -> bool:
    """Whether a folder is one of Brax's checkpoints, told by its config or by the keys of its tree."""
    if not is_item(found):
        return False
    if any(name.endswith(CONFIG) for name in found.entries):
        return True
    head = first_bytes(found.path / TREE, HEAD)
    return all(key in head for key in NORMALISER)
