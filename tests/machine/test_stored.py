"""What the devices answered last."""

import pytest

from jaxdoctor.facts.environment import Accelerator
from jaxdoctor.machine import stored
from jaxdoctor.machine.imports import Imports
from jaxdoctor.machine.measured import Survey
from jaxdoctor.machine.nvidia import NvidiaSmi


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "cache_folder", lambda: tmp_path)
    return tmp_path


def surveys():
    chip = Accelerator(name="cpu", platform="cpu")
    return (
        Survey(
            accelerator=chip,
            matmul_precision=None,
            x64=False,
            options=("a",),
            products=(),
            skipped=(),
            versions={"jax": "1"},
        ),
    )


def kept(environ=None, *, measured=True):
    return stored.StoredSurveys(NvidiaSmi(gpus=()), environ or {}, measured=measured)


def test_what_was_kept_is_found_again_while_nothing_changes():
    kept().save(surveys(), Imports())

    assert kept({"HOME": "elsewhere"}).load() == (surveys(), Imports())


@pytest.mark.parametrize(
    "variable", ["JAX_ENABLE_X64", "XLA_FLAGS", "NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES"]
)
def test_another_setting_is_another_machine(variable):
    kept().save(surveys(), Imports())

    assert kept({variable: "1"}).load() is None
    assert kept(measured=False).load() is None


def test_a_damaged_package_is_looked_at_again():
    kept().save(surveys(), Imports(unimportable={"mujoco": "ImportError"}))

    assert kept().load() is None


def test_another_jaxlib_is_another_machine(monkeypatch):
    kept().save(surveys(), Imports())
    monkeypatch.setattr(stored, "installed_versions", lambda: {"jaxlib": "9"})

    assert kept().load() is None


@pytest.mark.parametrize("bytes_", [b"", b"\x80\x04", b"cos\nsystem\n(S'true'\ntR.", b"N."])
def test_a_file_that_holds_something_else_is_no_answer(cache, bytes_):
    """A damaged one, and one that wants something called: nothing is executed."""
    kept().save(surveys(), Imports())
    (file,) = (cache / "machine").iterdir()
    file.write_bytes(bytes_)

    assert kept().load() is None


def test_where_nothing_can_be_written_nothing_is_kept(cache):
    (cache / "machine").write_text("a file")

    kept().save(surveys(), Imports())

    assert kept().load() is None
    assert [path.name for path in cache.iterdir()] == ["machine"]
