"""Haiku's recipe for parameters: arrays one behind the other in `arrays.npy`, their tree in `tree.pkl`.

The tree is the dictionary with a number in place of each array; arrays stand in the order of its sorted keys.
https://github.com/google-deepmind/dm-haiku/issues/18
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, TruncatedError, noted
from jaxdoctor.storage.listed import listed
from jaxdoctor.storage.npy import MAGIC, Records, read_records
from jaxdoctor.storage.pickles.files import faults_of, read_stream
from jaxdoctor.storage.pickles.parts import Table
from jaxdoctor.storage.placeholders import insist_data

ARRAYS, TREE = "arrays.npy", "tree.pkl"
DEEPEST = 64


def _recognizes(found: Candidate) -> bool:
    if not (found.has(ARRAYS) and found.has(TREE)):
        return False
    arrays = found.child(ARRAYS)
    return arrays.head.startswith(MAGIC) or (arrays.is_file and not arrays.size)


def _read(path: Path, budget: Budget) -> Contents:
    found = Records()
    names: list[str] = []
    tree, arrays = whole_file(path / TREE, root=path), whole_file(path / ARRAYS, root=path)
    with noted(found.faults.append, path=str(path / TREE)):
        insist_data(Candidate(path / TREE))
        stream = read_stream(tree, budget)
        found.faults += faults_of(stream, path / TREE)
        if stream.roots:
            names += _names(stream.roots[0], ())
    before = len(found.faults)
    with noted(found.faults.append, path=str(path / ARRAYS)):
        read_records(arrays, budget, found, names=names)
    lacking = names[len(found.leaves) :]
    if lacking and len(found.faults) == before:
        error = TruncatedError(
            f"{ARRAYS} holds {counted(len(found.leaves), 'array')}, and {TREE} names {len(names)}: "
            f"{listed(lacking)} {'is' if len(lacking) == 1 else 'are'} not there"
        )
        found.faults.append(error.fault(path=str(path / ARRAYS)))
    return Contents(leaves=found.leaves, faults=found.faults, bytes_total=tree.size + arrays.size)


def _names(node: Any, above: tuple[str, ...]) -> Iterator[str]:
    """The paths of a tree's leaves in the order in which JAX flattens it."""
    if len(above) > DEEPEST:
        raise CorruptError(f"{TREE} is nested more than {DEEPEST} levels deep")
    if isinstance(node, Table):
        for key, value in sorted(node, key=lambda pair: str(pair[0])):
            yield from _names(value, (*above, str(key)[:500]))
    elif isinstance(node, (list, tuple)):
        for index, value in enumerate(node):
            yield from _names(value, (*above, str(index)))
    elif node is not None:
        yield "/".join(above)


READER = Reader(recognizes=_recognizes, read=_read, order=35, folders=True)
