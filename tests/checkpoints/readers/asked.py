"""Asks one reader about a path, as a scan does."""

from jaxdoctor.checkpoints.reader import READERS, describe
from jaxdoctor.storage.candidate import Candidate


def knows(reader, path):
    """Whether the reader recognizes what stands there."""
    return reader.recognizes(Candidate(path))


def checkpoint_of(reader, path, budget):
    """The checkpoint that the reader describes."""
    (name,) = [name for name in READERS.names() if READERS.load(name) is reader]
    return describe(name, path, budget)
