"""What writers call a file or a folder that they are still writing."""

from __future__ import annotations

import re

ORBAX = r"\.orbax-checkpoint-tmp"
"""Behind the name of a step or of an item, with or without a number behind it."""

T5X = r"\.tmp-\d"
"""Behind the name of a step, with the time."""

FLAX = r"^checkpoint_tmp$"
"""The whole name, in the interface before Orbax."""

TRANSFORMERS = r"^tmp-checkpoint-|^tmp_[^.]*$"
"""Before the name of a save."""

COPIED = (".tmp", ".temp", ".part", ".partial", ".incomplete", ".crdownload", ".aria2")
"""Behind any name: what programs that write or download a file give it until it is whole."""

ENDING = re.compile(rf"(?:{ORBAX}|\.tmp-).*$|(?:{'|'.join(map(re.escape, COPIED))})$")
"""What stands behind the name that the save is going to have."""
