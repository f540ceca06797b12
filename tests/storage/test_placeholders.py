"""Files that hold no data."""

import pytest

from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.placeholders import insist_data, placeholder

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize {}\n"


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", "truncated-file", "is empty"),
        (bytes(5000), "corrupt-data", "bytes of zeros"),
        (LFS.format(4_976_698_672).encode(), "pointer-not-data", "4.98 GB were never downloaded"),
        (LFS.format(135).encode(), "pointer-not-data", "135 bytes were never downloaded"),
        (b"\xef\xbb\xbf <!DOCTYPE html>", "pointer-not-data", "is a web page"),
    ],
)
def test_what_stands_in_place_of_data(tmp_path, content, kind, words):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)

    error = placeholder(Candidate(path))

    assert (error.kind, words in str(error), bool(error.fix)) == (kind, True, True)


def test_data_is_data(tmp_path):
    """Zeros at the beginning are no fault where something follows."""
    path = tmp_path / "index"
    path.write_bytes(b"\0\0" + b"x")

    insist_data(Candidate(path))
    insist_data(Candidate(tmp_path))
    path.write_bytes(b"")
    with pytest.raises(DamagedError, match="is empty"):
        insist_data(Candidate(path))
