"""The files of a bundle in a folder."""

import pytest

from jaxdoctor.bundles.bundle import FILES
from jaxdoctor.bundles.unpack import unpack
from jaxdoctor.errors import UnreadableError


def test_files_keep_their_folders(tmp_path):
    unpack({f"{FILES}b/r.xml": b"r", f"{FILES}meshes/m.obj": b"m", "model/compiled.mjb": b"x"}, tmp_path)

    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == [
        "b/r.xml",
        "meshes/m.obj",
    ]


@pytest.mark.parametrize("name", ["../r.xml", "a/../../r.xml", "", "a\0b"])
def test_no_file_leaves_the_folder(tmp_path, name):
    (tmp_path / "in").mkdir()

    with pytest.raises(UnreadableError):
        unpack({f"{FILES}{name}": b"r"}, tmp_path / "in")

    assert not (tmp_path / "r.xml").exists()


def test_a_link_that_stands_there_is_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").symlink_to(tmp_path)

    with pytest.raises(UnreadableError):
        unpack({f"{FILES}a/r.xml": b"r"}, tmp_path / "in")


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "r.xml").write_text("mine")

    with pytest.raises(UnreadableError, match="cannot be unpacked"):
        unpack({f"{FILES}r.xml": b"r"}, tmp_path)

    assert (tmp_path / "r.xml").read_text() == "mine"
