"""Orbax: JAX's usual checkpoints, in every layout since its first release."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import is_checkpoint


def _read(path: Path, budget: Budget) -> Contents:
    return read_checkpoint(path, budget)


READER = Reader(recognizes=is_checkpoint, read=_read, unfinished=(unfinished.ORBAX,), folders=True)
