"""Paths that leave, files that are none, and files that end early."""

import os
import socket

import pytest

from jaxdoctor.storage.budget import Budget, OverBudgetError
from jaxdoctor.storage.damage import HostileError, MissingError, TruncatedError
from jaxdoctor.storage.files import (
    all_members,
    first_bytes,
    follow,
    inside,
    members,
    open_regular,
    opened,
    read_exactly,
    read_whole,
    size_of,
)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../secret", "a/../../secret", "", "a\0b", "..\\secret", "x" * 5000]
)
def test_a_name_that_leaves_is_refused(tmp_path, name):
    """Absolute and climbing names, and names that are none, never become a path."""
    with pytest.raises(HostileError):
        inside(tmp_path, name)


def test_a_name_inside_is_a_path(tmp_path):
    """A nested name is joined to the folder."""
    assert inside(tmp_path, "shards/a.bin") == tmp_path / "shards" / "a.bin"


def test_a_link_that_leaves_is_refused(tmp_path):
    """A link out of the folder is refused, whether the file or a folder on its way is the link."""
    (tmp_path / "secret").write_bytes(b"s")
    home = tmp_path / "checkpoint"
    home.mkdir()
    (home / "model").symlink_to(tmp_path / "secret")
    (home / "folder").symlink_to(tmp_path)

    with pytest.raises(HostileError, match="leaves the folder"):
        open_regular(home / "model")
    with pytest.raises(HostileError, match="leaves the folder"):
        inside(home, "folder/secret")


def test_a_link_within_the_folder_is_followed(tmp_path):
    """A link to a neighbour is a name like any other."""
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")

    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"abc"


def test_the_hub_cache_is_followed(tmp_path):
    """The Hugging Face cache keeps files as links to its blobs; no other link may leave."""
    snapshot = tmp_path / "models--x" / "snapshots" / "abc"
    blobs = tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "hash").write_bytes(b"weights")
    (tmp_path / "other").write_bytes(b"other")
    (snapshot / "model").symlink_to("../../blobs/hash")
    (snapshot / "evil").symlink_to("../../../other")

    assert first_bytes(snapshot / "model", 7) == b"weights"
    with pytest.raises(HostileError):
        open_regular(snapshot / "evil")


def test_nothing_waits_on_a_fifo(tmp_path):
    """A FIFO and a socket are named and not opened."""
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))

        with pytest.raises(HostileError, match="is a FIFO"):
            open_regular(tmp_path / "fifo")
        with pytest.raises(HostileError, match="is a socket"):
            size_of(tmp_path / "socket")
        assert first_bytes(tmp_path / "fifo", 8) == b""
        assert {member.kind for member in members(tmp_path)} == {"a FIFO", "a socket"}


def test_a_file_that_may_not_be_read_is_said_to_be_missing(tmp_path, monkeypatch):
    """A permission error names the reason."""
    (tmp_path / "a").write_bytes(b"abc")

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(MissingError, match="Permission denied"):
        open_regular(tmp_path / "a")


def test_a_circle_of_links_ends(tmp_path):
    """Two links that name each other are an error, not a hang."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(MissingError):
        open_regular(tmp_path / "a")


def test_a_read_beyond_the_end_is_told_before_allocating(tmp_path):
    """A declared size of 2^60 allocates nothing."""
    (tmp_path / "a").write_bytes(b"abc")

    with open_regular(tmp_path / "a") as file, pytest.raises(TruncatedError, match="ends at byte 3"):
        read_exactly(file, 0, 1 << 60, Budget())


def test_bytes_are_counted(tmp_path):
    """The budget knows what was read from disk."""
    (tmp_path / "a").write_bytes(b"abcdef")
    budget = Budget()

    assert read_whole(tmp_path / "a", budget, limit=100) == b"abcdef"
    assert budget.bytes_read == 6


def test_a_small_file_that_is_large_is_refused(tmp_path):
    """A metadata file beyond its limit is not read."""
    (tmp_path / "a").write_bytes(b"x" * 101)
    budget = Budget()

    with pytest.raises(HostileError, match="at most 100"):
        read_whole(tmp_path / "a", budget, limit=100)
    assert budget.bytes_read == 0


def test_a_folder_is_listed_with_everything_in_it(tmp_path):
    """Files have sizes; links that leave and links to nothing are distinguished."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a").write_bytes(b"abc")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "gone").symlink_to("nothing")

    found = {member.name: (member.kind, member.size) for member in members(tmp_path)}

    assert found == {
        "deep": ("folder", 0),
        "deep/er": ("folder", 0),
        "deep/er/a": ("file", 3),
        "out": ("link out", 0),
        "gone": ("missing", 0),
    }


def test_a_walk_is_bounded(tmp_path):
    """Too many entries and too deep folders end the walk."""
    for index in range(5):
        (tmp_path / str(index)).touch()
    with pytest.raises(HostileError, match="more than 4"):
        list(members(tmp_path, most=4))

    with pytest.raises(OverBudgetError):
        all_members(tmp_path, Budget(memory=1000))

    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    with pytest.raises(HostileError, match="deeper than 1"):
        list(members(tmp_path, deepest=1))


def test_a_file_is_opened_once_for_all_its_parts(tmp_path, monkeypatch):
    """The one that was opened last stays open with the budget, and another takes its place."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"content")
    count = []
    original = os.open
    monkeypatch.setattr(os, "open", lambda *args, **options: count.append(args) or original(*args, **options))
    budget = Budget()

    for path in (paths[0], paths[0], paths[1], paths[1]):
        assert read_exactly(opened(path, budget), 0, 4, budget) == b"cont"

    assert len(count) == 2


def test_a_link_that_is_on_the_way_is_followed_with_care(tmp_path):
    """A path without links below its root is taken as it is; any link on the way is looked at."""
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root / "real", other):
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(b"x")
    (root / "within").symlink_to("real")
    (root / "out").symlink_to(other)

    assert follow(root / "real" / "a", root=root) == root / "real" / "a"
    assert follow(root / "within" / "a", root=root) == (root / "real" / "a").resolve()
    for name in ("out/a", "real/../../other/a"):
        with pytest.raises(HostileError):
            follow(root / name, root=root)
