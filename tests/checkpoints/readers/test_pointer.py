"""Files that stand for what was never downloaded."""

import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers.pointer import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548118077\n"


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        (LFS, "548 MB were never downloaded"),
        ("<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
        ("  <html lang='en'>", "web page"),
    ],
)
def test_what_was_saved_in_place_of_a_checkpoint(tmp_path, content, stated):
    """Both are one fault, which says what the file is."""
    path = tmp_path / "model.safetensors"
    path.write_text(content)

    assert knows(READER, path)
    (fault,) = checkpoint_of(READER, path, Budget()).faults
    assert fault.kind == "pointer-not-data"
    assert stated in fault.message


def test_pages_that_are_meant_and_other_files(tmp_path):
    """A page under a page's name is no checkpoint gone wrong."""
    page, other = tmp_path / "report.html", tmp_path / "model.bin"
    page.write_text("<!DOCTYPE html>")
    other.write_bytes(b"<\0\0\0")

    assert not knows(READER, page)
    assert not knows(READER, other)


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    """Whatever happens to the text, reading ends calmly."""
    original = tmp_path_factory.getbasetemp() / "pointer.safetensors"
    original.write_text(LFS)
    with damaged(original, happened) as path:
        insist_calm(READER, path)
