"""Which files are Flax's msgpack: told by their first bytes and their names."""

from __future__ import annotations

import re

from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.orbax.places import MAPS

LISTS = frozenset({*range(0x91, 0xA0), 0xDC, 0xDD})
OPENINGS = frozenset(bytes([byte]) for byte in MAPS | LISTS)
HEAD = 1 << 16
DTYPE = re.compile(rb"[\xa4-\xaf](?:b?float|u?int|complex)\d|\xa4bool")
"""How an array's dtype stands in msgpack: a short string, its length in the first byte."""

SUFFIXES = (".msgpack", ".cleanrl_model")
LEGACY = re.compile(r"checkpoint_-?[\d.]+(?:_gda)?")
TEMPORARY = "checkpoint_tmp"
"""What the older interface calls a file while it writes it."""


def is_flax_file(found: Candidate) -> bool:
    """Whether it holds a tree of Flax's."""
    if found.head[:1] not in OPENINGS:
        return False
    named = found.suffix in SUFFIXES or LEGACY.fullmatch(found.name) is not None or found.name == TEMPORARY
    return named or DTYPE.search(found.longer_head(HEAD)) is not None
