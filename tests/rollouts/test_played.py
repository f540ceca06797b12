"""Where what is played is kept."""

import numpy as np
import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.played import keep, kept_in


def test_only_what_says_record_is_written(tmp_path):
    """A file of controls is read."""
    assert kept_in(None) is None
    assert kept_in("controls.npz") is None
    assert kept_in(f"record:{tmp_path}/played.npz") == tmp_path / "played.npz"


def test_it_is_kept_in_an_npz_file_of_a_folder_that_is_there(tmp_path):
    """Said before the work."""
    (tmp_path / "folder.npz").mkdir()

    with pytest.raises(UsageError, match=r"kept in a \.npz file"):
        kept_in("record:played.csv")
    with pytest.raises(UsageError, match="there is no folder"):
        kept_in(f"record:{tmp_path}/nowhere/played.npz")
    with pytest.raises(UsageError, match="is a folder"):
        kept_in(f"record:{tmp_path}/folder.npz")


def test_it_is_written_whole_or_not_at_all(tmp_path):
    """No half of a file is left behind."""
    path = tmp_path / "played.npz"
    keep(path, {"ctrl": np.ones((2, 3, 1))})

    with pytest.raises(UsageError, match="cannot be written"):
        keep(tmp_path / "nowhere" / "played.npz", {"ctrl": np.ones(3)})

    assert [file.name for file in tmp_path.iterdir()] == ["played.npz"]
