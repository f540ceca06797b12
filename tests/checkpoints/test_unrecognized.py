"""Files that are called like checkpoints and that no reader takes: never "no findings" over them."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.errors import NothingExaminedError

OTHERS = Path(__file__).parent.parent / "fixtures" / "other_formats"


def beside_a_healthy_one(folder, name, content):
    """What a scan of the folder finds: names of rules, and why something was left out."""
    np.savez(folder / "step_1.npz", w=np.ones(3, np.float32))
    (folder / name).write_bytes(content)
    report = scan([folder], Options())
    found = [(finding.name, Path(finding.location.path).name) for finding in report.findings]
    return found, [skipped.reason for skipped in report.skipped]


@pytest.mark.parametrize("name", ["step_2.npz", "ckpt_2.msgpack", "policy.pt", "model.safetensors", "a.eqx"])
def test_an_empty_file_is_named(tmp_path, name):
    """A full disk leaves a name and nothing in it."""
    assert beside_a_healthy_one(tmp_path, name, b"") == ([("truncated-file", name)], [])


@pytest.mark.parametrize("name", ["step_2.npz", "optimizer.bin", "x.h5"])
def test_a_file_of_zeros_is_named(tmp_path, name):
    """A sparse file whose blocks were never written."""
    assert beside_a_healthy_one(tmp_path, name, bytes(9000)) == ([("corrupt-data", name)], [])


@pytest.mark.parametrize("name", ["step_2.npz", "model.safetensors", "w.npy"])
def test_another_content_under_a_suffix_of_its_own_is_damage(tmp_path, name):
    assert beside_a_healthy_one(tmp_path, name, b"anything else")[0] == [("corrupt-data", name)]


@pytest.mark.parametrize("name", ["step_2.npz.tmp", "policy.pt.partial", "m.safetensors.incomplete"])
def test_a_file_that_is_still_being_written(tmp_path, name):
    found, left = beside_a_healthy_one(tmp_path, name, b"PK\x03\x04")

    assert found == [("unfinished-save", name)]
    assert left == ["its save is not finished"]


@pytest.mark.parametrize("name", ["notes.txt", "firmware.bin", "table.dat", "empty", "x.tmp", "__init__.py"])
def test_what_is_called_otherwise_is_nothing(tmp_path, name):
    """Files of programs stand everywhere, empty ones too."""
    assert beside_a_healthy_one(tmp_path, name, b"") == ([], [])


def test_the_path_files_of_python_are_nothing(tmp_path):
    """They have a suffix of torch, and stand in every environment."""
    assert beside_a_healthy_one(tmp_path, "_editable_impl.pth", b"/home/me/project\n") == ([], [])


def test_models_of_other_formats_are_counted(tmp_path):
    """They change neither findings nor the exit code."""
    np.savez(tmp_path / "step_1.npz", w=np.ones(3, np.float32))
    for name in ("a.gguf", "b.gguf"):
        shutil.copy(OTHERS / "two_tensors.gguf", tmp_path / name)
    shutil.copy(OTHERS / "product.onnx", tmp_path)
    (tmp_path / "states.ckpt").write_bytes(b"of a program that nobody knows")

    report = scan([tmp_path], Options())

    assert report.findings == ()
    assert report.exit_code(report.fail_on) == 0
    assert [one.reason for one in report.skipped] == [
        "4 not read: 2 GGUF, ONNX, unknown (a.gguf, b.gguf, product.onnx and 1 more)"
    ]


def test_a_cut_gguf_is_damage(tmp_path):
    content = (OTHERS / "two_tensors.gguf").read_bytes()

    assert beside_a_healthy_one(tmp_path, "m.gguf", content[:-300])[0] == [("truncated-file", "m.gguf")]


def test_a_format_that_is_named_is_called_by_its_name():
    with pytest.raises(NothingExaminedError, match="1 not read: ONNX"):
        scan([OTHERS / "product.onnx"], Options())


def test_an_empty_file_alone_is_a_finding(tmp_path):
    """Nothing was examined, and that it is empty is known."""
    (tmp_path / "final_params.msgpack").touch()

    report = scan([tmp_path], Options())

    assert [finding.message for finding in report.findings] == ["final_params.msgpack is empty"]
    assert report.exit_code(report.fail_on) == 1
