"""The arrays of a pickle, found without executing it."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.storage.blobs import unpacked, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.pickles.arrays import Array, numpy_or_jax
from jaxdoctor.storage.pickles.files import SIGHT, faults_of, read_stream, tree_of
from jaxdoctor.storage.pickles.parts import Made


def read_pickled(path: Path, budget: Budget) -> Contents:
    """The leaves of the file's first pickle, and what is wrong with it as faults.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    blob = unpacked(whole_file(path), first_bytes(path, SIGHT))
    stream = read_stream(blob, budget)

    def recognize(made: Made) -> Array | None:
        return numpy_or_jax(made, blob, budget)

    tree = tree_of(stream, recognize)
    return Contents(leaves=tree.leaves, faults=(*faults_of(stream, path), *tree.faults))
