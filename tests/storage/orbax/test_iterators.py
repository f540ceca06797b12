"""The states of data iterators."""

import json

import pytest

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.iterators import is_iterator, read_iterators


def states(folder, *indices):
    for process, index in enumerate(indices):
        text = json.dumps({"next_index": index})
        (folder / f"process_{process}-of-{len(indices)}.json").write_text(text)
    return sorted(path.name for path in folder.iterdir())


def test_each_process_has_a_checksum_of_its_state(tmp_path):
    """Equal states have equal ones, so that a rule sees whether an iterator goes on."""
    names, notes = states(tmp_path, 8, 8, 9), Notes()

    found = read_iterators(tmp_path, names, Budget(), notes)

    assert notes.faults == ()
    assert found["process_0-of-3.json"] == found["process_1-of-3.json"] != found["process_2-of-3.json"]


def test_what_is_missing_or_cut_is_noted(tmp_path):
    names, notes = states(tmp_path, 8, 8, 9), Notes()
    (tmp_path / names[2]).write_text('{"next_')

    found = read_iterators(tmp_path, names[1:], Budget(), notes)

    assert [fault.kind for fault in notes.faults] == ["missing-file", "truncated-file"]
    assert list(found) == names[1:2]


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["process_0-of-1.json"], True), (["metadata"], False), (["process_0"], False), ([], False)],
)
def test_what_such_an_item_holds(names, expected):
    assert is_iterator(names) is expected
