"""Logs of Python numbers are a few arrays, and cost what they cost to load."""

import pickle
import time

import numpy as np

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.readers.pickle import READER
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.facts.leaf import Role
from jaxdoctor.storage.budget import Budget


def rows(count):
    return [
        {
            "step": index,
            "reward": index * 0.5,
            "obs": [index * 0.25, -1.0],
            "done": index % 2 == 0,
            "info": f"at {index}",
        }
        for index in range(count)
    ]


def read(path, value, budget=None):
    path.write_bytes(pickle.dumps(value))
    return READER.read(path, budget or Budget())


def test_each_field_of_numbers_is_one_leaf(tmp_path):
    """Texts are none, and what was logged is no count of the state."""
    contents = read(tmp_path / "log.pkl", {"step": 7, "rows": rows(100)})
    found = {leaf.path: leaf for leaf in contents.leaves}

    assert {path: (leaf.dtype, leaf.shape) for path, leaf in found.items()} == {
        "step": ("int64", ()),
        "rows/*/step": ("int64", (100,)),
        "rows/*/reward": ("float64", (100,)),
        "rows/*/obs": ("float64", (100, 2)),
        "rows/*/done": ("bool", (100,)),
    }
    assert found["rows/*/step"].role is Role.METRIC
    assert next(found["rows/*/reward"].values.stream()).tolist() == [index * 0.5 for index in range(100)]


def test_arrays_in_records_stay_leaves_of_their_own(tmp_path):
    """A buffer of transitions has its numbers together and its arrays apart; uneven lists are no records."""
    buffer = [{"obs": np.full(3, index, np.float32), "reward": 1.0} for index in range(20)]
    paths = [leaf.path for leaf in read(tmp_path / "a.pkl", buffer).leaves]
    uneven = [
        leaf.path for leaf in read(tmp_path / "b.pkl", [[1.0] * (index % 3) for index in range(20)]).leaves
    ]

    assert paths[0] == "*/reward"
    assert paths[1:] == [f"{index}/obs" for index in range(20)]
    assert uneven[:3] == ["1/0", "2/0", "2/1"]


def seconds(path):
    begin = time.process_time()
    scan([path], Options())
    return time.process_time() - begin


def test_the_work_grows_with_the_file(tmp_path):
    """Eight times the records take less than sixteen times the work, in reading and in every rule."""
    small, large = tmp_path / "small.pkl", tmp_path / "large.pkl"
    for path, count in ((small, 2_000), (large, 16_000)):
        # One odd record: each number is a leaf of its own.
        path.write_bytes(
            pickle.dumps(
                {
                    "rows": [{"step": index, "count": index} for index in range(count // 8)] + [None],
                    "log": rows(count),
                }
            )
        )
    seconds(small)

    # The least of two: CPU time too is longer on a machine whose caches others use.
    assert min(seconds(large), seconds(large)) < 16 * max(seconds(small), 0.05)


def test_beyond_the_allowance_calls_are_still_found(tmp_path):
    """What cannot be held is not judged; what the end of the file would call is."""
    content = pickle.dumps({"rows": rows(20_000)})
    path = tmp_path / "log.pkl"
    path.write_bytes(content[:-1] + b"0cos\nsystem\n(S'id'\ntR.")
    healthy = tmp_path / "healthy.pkl"
    healthy.write_bytes(content)

    assert {fault.kind for fault in READER.read(healthy, Budget()).faults} == set()
    assert {fault.kind for fault in READER.read(healthy, Budget(memory=24 << 20)).faults} == {
        "unsupported-leaf"
    }
    assert "hostile-content" in {fault.kind for fault in READER.read(path, Budget(memory=24 << 20)).faults}
