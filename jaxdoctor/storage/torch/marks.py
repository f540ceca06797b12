"""How torch files begin."""

from __future__ import annotations

LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
"""The first of the five pickles of torch <= 1.5: the integer 0x1950a86a20f9469cfc6c, in protocol 2."""

ROOT_ENDING = "/data.pkl"
"""The member of a torch zip that holds the object; what stands before it varies."""

TAR_MEMBERS = frozenset({"sys_info", "pickle", "storages", "tensors"})
"""What torch <= 0.1.10 put into a tar archive."""
