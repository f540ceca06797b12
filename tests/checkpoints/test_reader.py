"""The contract of readers: one file is all that a new format needs."""

import sys

import pytest

from jaxdoctor.checkpoints import discover
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.checkpoints.scan import scan

TOY = '''
"""A format of two numbers."""

import numpy as np

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.elements import Element


def _read(path, budget):
    values = whole_file(path).values(4, 2, Element("float32"), budget)
    return Contents(leaves=[Leaf(path="w", dtype="float32", shape=(2,), values=values)])


READER = Reader(
    recognizes=lambda found: found.head.startswith(b"TOY!"),
    read=_read,
    restored_by_jax=False,
    suffixes=(".toy",),
    unfinished=(r"^writing_",),
)
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A reader in a file of its own, as if it stood in the folder of readers."""
    (tmp_path / "toy_reader.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(READERS, "_modules", {"toy": "toy_reader", **READERS._found()})
    caches = (discover.readers, discover.recognizers, discover.suffixes, discover.unfinished_names)
    for cache in caches:
        cache.cache_clear()
    yield
    sys.modules.pop("toy_reader", None)
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("toy")
def test_a_reader_is_one_file(tmp_path):
    """It says what is particular to the format, and the rest is found without it."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "step_7.toy").write_bytes(b"TOY!" + bytes(4) + b"\x00\x00\xc0\x7f")
    (run / "writing_step_8.toy").write_bytes(b"TOY!")

    report = scan([run], Options())
    (saved,) = report.checkpoints

    assert (saved.format, saved.step, saved.bytes_total, saved.bytes_read) == ("toy", 7, 12, 8)
    assert not saved.written_by_jax
    assert "unfinished-save" in {finding.name for finding in report.findings}
    assert [leaf.statistics.nan for leaf in saved.leaves] == [1]
