"""A bundle written: whole, small enough, and with nothing but NumPy."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import jsonschema
import ml_dtypes
import numpy as np
import pytest

import jaxdoctor
from jaxdoctor.bundles import write as writing
from jaxdoctor.bundles.bundle import COMPILED, FILES, MOST_BYTES, PackedArray
from jaxdoctor.bundles.read import read
from jaxdoctor.bundles.write import TooLargeError, write
from jaxdoctor.errors import UsageError
from tests.bundles.made import POLICY, a_bundle

SCHEMA = json.loads((Path(jaxdoctor.__file__).parent / "schema" / "bundle-1.json").read_text())


def test_what_is_written_is_read_back(tmp_path):
    written = write(tmp_path / "f.zip", a_bundle())

    found = read(tmp_path / "f.zip")

    assert found.failure == written.failure
    assert found.model == written.model
    assert found.files == dict(written.files)
    assert found.policy == written.policy == POLICY
    assert found.versions == dict(written.versions)
    assert found.tool == jaxdoctor.__version__
    assert found.environment["fp64_ratio"] == "nan"
    assert found.state["info.key"].dtype == np.uint32
    np.testing.assert_array_equal(found.state["qpos"], written.state["qpos"])


def test_a_start_of_its_own_is_kept_with_the_controls_from_there(tmp_path):
    start = {"pipeline_state.q": np.ones(2, "f4"), "info.steps": np.int32(5)}
    write(tmp_path / "f.zip", a_bundle(start=start, start_step=0, control=np.zeros((10, 0), "f4")))

    found = read(tmp_path / "f.zip")

    assert found.begins == 0
    assert found.starts["info.steps"].tolist() == 5
    assert found.steps == 3
    assert read_starts_without(tmp_path).tolist() == [0]


def read_starts_without(folder):
    write(folder / "g.zip", a_bundle())
    return read(folder / "g.zip").starts["qpos"]


def test_the_manifest_fits_its_schema(tmp_path):
    write(tmp_path / "f.zip", a_bundle())
    write(
        tmp_path / "g.zip",
        a_bundle(model=None, files={}, policy=None, environment=None, start={"q": np.ones(1)}, start_step=7),
    )

    for name in ("f.zip", "g.zip"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            jsonschema.validate(json.loads(archive.read("manifest.json")), SCHEMA)


def test_numpy_opens_its_arrays(tmp_path):
    write(tmp_path / "f.zip", a_bundle())

    with (tmp_path / "f.zip").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        assert arrays["state/0"].tolist() == [[0], [1], [2]]


def test_a_type_that_numpy_does_not_know_is_stored_exactly(tmp_path):
    values = np.array([[1.5], [2.5], [-3]], ml_dtypes.bfloat16)
    write(tmp_path / "f.zip", a_bundle(state={"w": values, "big": np.arange(3.0).astype(">f8")[:, None]}))

    found = read(tmp_path / "f.zip").state

    assert found["w"].tolist() == [[1.5], [2.5], [-3]]
    assert found["big"].tolist() == [[0], [1], [2]]


def test_files_that_are_too_large_are_left_out_and_it_says_so(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).bytes(1 << 16)
    monkeypatch.setattr(writing, "MOST_BYTES", 1 << 16)
    written = write(tmp_path / "f.zip", a_bundle(files={f"{FILES}robot.xml": noise, COMPILED: b"small"}))

    found = read(tmp_path / "f.zip")

    assert list(found.files) == [COMPILED]
    assert found.model == written.model
    assert found.model.main is None
    assert "more than" in found.model.left_out


def test_a_policy_that_is_too_large_is_left_out_before_the_model_is(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).bytes(1 << 16)
    monkeypatch.setattr(writing, "MOST_BYTES", 1 << 16)
    policy = replace(POLICY, arrays={("w",): PackedArray(dtype="uint8", shape=(1 << 16,), content=noise)})
    written = write(tmp_path / "f.zip", a_bundle(policy=policy))

    found = read(tmp_path / "f.zip")

    assert found.policy == written.policy
    assert (found.policy.name, dict(found.policy.arrays)) == (POLICY.name, {})
    assert "more than" in found.policy.left_out
    assert found.model == a_bundle().model


def test_numpy_opens_the_arrays_of_a_policy(tmp_path):
    write(tmp_path / "f.zip", a_bundle())

    with (tmp_path / "f.zip").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        assert arrays["policy/0"].shape == (2, 1)
        assert arrays["policy/1"].tolist() == [0x3F80]


def test_what_is_too_large_without_them_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "MOST_INFLATED", MOST_BYTES)
    huge = bytes(MOST_BYTES + 1)

    with pytest.raises(TooLargeError, match="larger than 50 MiB") as raised:
        write(tmp_path / "f.zip", a_bundle(files={COMPILED: huge, f"{FILES}robot.xml": b"x"}))

    assert COMPILED in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "gone" / "f.zip", a_bundle())


def test_writing_imports_only_numpy():
    """It runs beside a training, where jaxdoctor's other packages may be missing."""
    code = (
        "import sys; from jaxdoctor.bundles import write; from tests.bundles.made import a_bundle;"
        "import tempfile, pathlib;"
        "write.write(pathlib.Path(tempfile.mkdtemp()) / 'f.zip', a_bundle());"
        "heavy = {'jax', 'mujoco', 'typer', 'rich', 'yaml', 'tensorstore', 'ml_dtypes', 'msgpack'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
