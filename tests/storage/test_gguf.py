"""The size of GGUF files, against their headers."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, DamagedError, TruncatedError
from jaxdoctor.storage.gguf import insist_whole

FIXTURE = Path(__file__).parent.parent / "fixtures" / "other_formats" / "two_tensors.gguf"


def cut(tmp_path, content):
    path = tmp_path / "cut.gguf"
    path.write_bytes(content)
    return path


def test_a_whole_file_is_whole():
    """One that the gguf package wrote, with an alignment of its own and a quantised tensor."""
    insist_whole(FIXTURE, Budget())


def test_every_cut_is_seen(tmp_path):
    """Within the header and within the tensors; only the padding behind the last tensor may be missing."""
    content = FIXTURE.read_bytes()
    quantized = 3 * 2 * 34
    last = len(content) - -quantized % 64
    for end in (30, 100, 200, len(content) // 2, last - 1):
        with pytest.raises(TruncatedError, match="bytes"):
            insist_whole(cut(tmp_path, content[:end]), Budget())
    insist_whole(cut(tmp_path, content[:last]), Budget())


def test_a_version_of_another_layout_is_left_alone(tmp_path):
    insist_whole(cut(tmp_path, b"GGUF" + struct.pack("<IQQ", 1, 5, 5)), Budget())


def test_a_header_without_end_is_refused_at_once(tmp_path):
    with pytest.raises(CorruptError, match="announces"):
        insist_whole(cut(tmp_path, b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1)), Budget())


@given(st.integers(4, 400), st.binary(min_size=1, max_size=12))
def test_whatever_stands_in_a_header_only_our_errors_come_out(tmp_path_factory, place, payload):
    content = FIXTURE.read_bytes()
    path = cut(tmp_path_factory.mktemp("gguf"), content[:place] + payload + content[place + len(payload) :])
    try:
        insist_whole(path, Budget())
    except DamagedError:
        return
