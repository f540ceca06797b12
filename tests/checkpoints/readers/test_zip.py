"""Zips that are no known checkpoint."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest

from jaxdoctor.checkpoints.readers.zip import READER
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from tests.storage.pickles.pieces import START, called, text

PAYLOAD = START + called("os:system", text("id")) + b"."


def archived(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def within(members) -> bytes:
    content = io.BytesIO()
    archived(content, members)
    return content.getvalue()


def object_array(content: bytes, kind: str = "'|O'") -> bytes:
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': (1,), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + content


def kinds(path):
    assert READER.recognizes(Candidate(path))
    return {fault.kind for fault in READER.read(path, Budget()).faults}


@pytest.mark.parametrize(
    "members",
    [
        {"notes.txt": "hello", "weights": PAYLOAD},
        {"a/b.gz": gzip.compress(PAYLOAD)},
        {"inner.zip": within({"x": PAYLOAD})},
        {"w.bin": object_array(PAYLOAD)},
        {"w.bin": object_array(PAYLOAD, "[('a', '<i4'), ('b', '|O')]")},
    ],
    ids=["any name", "compressed", "zip in zip", "array of objects", "records with objects"],
)
def test_a_payload_in_any_member_is_found(tmp_path, members):
    assert kinds(archived(tmp_path / "x.zip", members)) == {"hostile-content"}


def test_a_mark_of_encryption_hides_nothing(tmp_path):
    """Loaders that ignore the flag read the member as it is."""
    path = archived(tmp_path / "x.zip", {"w.pkl": PAYLOAD}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    place = content.index(b"PK\x01\x02") + 8
    path.write_bytes(content[:place] + b"\x01" + content[place + 1 :])

    assert kinds(path) == {"hostile-content"}


def test_a_healthy_one_is_read(tmp_path):
    """The leaves of each pickle stand under the name of its member."""
    path = archived(tmp_path / "x.zip", {"step.pkl": pickle.dumps({"w": np.ones(3), "step": 7})})
    contents = READER.read(path, Budget())

    assert contents.faults == []
    assert [leaf.path for leaf in contents.leaves] == ["step.pkl/w", "step.pkl/step"]


def test_zips_without_pickles_are_left_alone(tmp_path):
    """A zip of texts and images is no checkpoint, and neither is a file that only begins like one."""
    texts = archived(tmp_path / "x.zip", {"a.txt": "copyright 2026\n", "b.png": b"\x89PNG" + bytes(20)})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(texts.read_bytes()[:40])

    assert not READER.recognizes(Candidate(texts))
    assert not READER.recognizes(Candidate(cut))
