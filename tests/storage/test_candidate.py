"""What readers are asked about."""

import os

from jaxdoctor.storage.candidate import HEAD, Candidate


def test_a_file_is_opened_once_for_all_readers(tmp_path, monkeypatch):
    """Size, kind and head are fetched when they are asked for, and kept."""
    path = tmp_path / "a.npz"
    path.write_bytes(bytes(range(256)) * 40)
    opened = []
    original = os.open
    monkeypatch.setattr(
        os, "open", lambda *args, **options: opened.append(args) or original(*args, **options)
    )
    found = Candidate(path)

    heads = [found.head for _ in range(20)]

    assert found.is_file
    assert (found.name, found.suffix, found.size) == ("a.npz", ".npz", 10240)
    assert heads[-1] == path.read_bytes()[:HEAD]
    assert len(opened) == 1
    assert found.longer_head(8000) == path.read_bytes()[:8000]


def test_a_folder_tells_its_names(tmp_path):
    """Sorted, each with whether it is a folder; a link counts as what it leads to."""
    (tmp_path / "b").mkdir()
    (tmp_path / "a").touch()
    (tmp_path / "c").symlink_to(tmp_path / "b")
    found = Candidate(tmp_path)

    assert found.entries == {"a": False, "b": True, "c": True}
    assert found.folders == ["b", "c"]
    assert found.has("a")
    assert found.head == b""
    assert found.child("b").is_folder


def test_nothing_is_opened_that_is_no_regular_file(tmp_path):
    """A FIFO would block; a link out of the folder is not followed where the walk did not see it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out").symlink_to(tmp_path / "secret")

    assert Candidate(tmp_path / "pipe").head == b""
    assert Candidate(tmp_path / "run" / "out").head == b""
    assert Candidate(tmp_path / "run" / "out", link=False).head == b""
    assert not Candidate(tmp_path / "gone").is_file
