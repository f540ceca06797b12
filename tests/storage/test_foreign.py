"""Formats that are known by name and not read."""

import gzip
import lzma
import zlib
from pathlib import Path

import pytest

from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.foreign import foreign_format

OTHERS = Path(__file__).parent.parent / "fixtures" / "other_formats"


@pytest.mark.parametrize(("name", "expected"), [("two_tensors.gguf", "GGUF"), ("product.onnx", "ONNX")])
def test_models_of_other_programs(name, expected):
    """Files that the gguf and the onnx package wrote."""
    assert foreign_format(Candidate(OTHERS / name)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (zlib.compress(b"x" * 99), "joblib compressed by zlib"),
        (gzip.compress(b"x", mtime=0), "joblib compressed by gzip"),
        (lzma.compress(b"x"), "joblib compressed by xz"),
        (b"neither", "joblib"),
    ],
)
def test_what_joblib_compresses(tmp_path, content, expected):
    path = tmp_path / "model.joblib"
    path.write_bytes(content)

    assert foreign_format(Candidate(path)) == expected


def test_an_unknown_file_has_no_format(tmp_path):
    (tmp_path / "notes.dat").write_bytes(b"anything")

    assert foreign_format(Candidate(tmp_path / "notes.dat")) is None
