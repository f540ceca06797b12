"""The environment that is examined: another Python's packages, reached without installing anything there."""

import importlib.metadata
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.workers import interpreter
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run

ASKED = """
def where(*, progress):
    import os, sys
    import jax, numpy, jaxdoctor
    return {
        "jax": jax.__file__, "numpy": numpy.__file__, "jaxdoctor": jaxdoctor.__file__, "prefix": sys.prefix,
        "variables": sorted(name for name in os.environ if name in ("PYTHONPATH", "PYTHONHOME")),
        "typer": __import__("importlib.util").util.find_spec("typer") is not None,
    }
"""


@pytest.fixture(autouse=True)
def forget():
    """Which Python was chosen is a fact about a whole process."""
    yield
    interpreter.choose(None)


@pytest.fixture
def patient(tmp_path):
    """An environment with a jax and a numpy of its own, and nothing else."""
    venv.create(tmp_path / "patient", symlinks=True, with_pip=False)
    (packages,) = (tmp_path / "patient" / "lib").glob("python*/site-packages")
    for name in ("jax", "numpy"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("__version__ = '0.0.1'\n")
    return tmp_path / "patient"


def asked(tmp_path, monkeypatch):
    (tmp_path / "asked_here.py").write_text(ASKED)
    monkeypatch.chdir(tmp_path)
    return run(Task("asked_here:where", users_code=True)(), deadline=time.monotonic() + 60)


def test_the_packages_are_the_patients_and_only_jaxdoctor_is_ours(patient, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("PYTHONHOME", sys.base_prefix)
    interpreter.choose(str(patient / "bin" / "python"))

    seen = asked(tmp_path, monkeypatch)

    assert seen["jax"].startswith(str(patient))
    assert seen["numpy"].startswith(str(patient))
    assert seen["prefix"] == str(patient)
    assert Path(seen["jaxdoctor"]) == Path(interpreter.__file__).parents[1] / "__init__.py"
    assert seen["variables"] == []
    assert not seen["typer"]


def test_the_folder_of_an_environment_names_its_python(patient):
    interpreter.choose(str(patient))

    assert interpreter.chosen() == str(patient / "bin" / "python")
    assert interpreter.is_another()


def test_the_variable_stands_for_the_option(patient, monkeypatch):
    monkeypatch.setenv(interpreter.VARIABLE, str(patient))

    interpreter.choose(None)

    assert interpreter.chosen() == str(patient / "bin" / "python")
    monkeypatch.delenv(interpreter.VARIABLE)


def test_the_jaxlib_that_is_examined_is_that_environments(patient):
    assert interpreter.jaxlib() == importlib.metadata.version("jaxlib")
    (packages,) = (patient / "lib").glob("python*/site-packages")
    (packages / "jaxlib-0.5.3.dist-info").mkdir()
    (packages / "jaxlib-0.5.3.dist-info" / "METADATA").write_text("Name: jaxlib\nVersion: 0.5.3\n")

    interpreter.choose(str(patient / "bin" / "python"))

    assert interpreter.jaxlib() == "0.5.3"


def test_without_a_choice_it_is_our_own(tmp_path, monkeypatch):
    interpreter.choose(None)

    assert asked(tmp_path, monkeypatch)["prefix"] == sys.prefix
    assert not interpreter.is_another()


def script(tmp_path, text):
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("echo 3 10; echo True", "is Python 3.10, older than 3.11"),
        ("echo 3 12; echo False", "has no jax"),
        ("echo hello", "is no Python"),
        ("exit 1", "is no Python"),
    ],
)
def test_what_cannot_be_examined_is_said_in_one_sentence(tmp_path, text, complaint):
    with pytest.raises(UsageError, match=complaint) as caught:
        interpreter.choose(str(script(tmp_path, text)))

    assert "checkpoints can be scanned without it" in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_path_that_is_not_there_or_not_executable(tmp_path):
    (tmp_path / "text").write_text("")

    with pytest.raises(UsageError, match="there is no Python at"):
        interpreter.choose(str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="cannot be run as a Python"):
        interpreter.choose(str(tmp_path / "text"))


def test_an_environment_that_is_active_and_not_examined_is_named(tmp_path):
    assert interpreter.other_environment({"VIRTUAL_ENV": str(tmp_path)}) == str(tmp_path)
    assert interpreter.other_environment({"VIRTUAL_ENV": sys.prefix}) is None
    assert interpreter.other_environment({}) is None


def test_scanning_checkpoints_asks_no_other_python(tmp_path):
    """A wrong JAXDOCTOR_PYTHON does not stand in the way of what needs no JAX."""
    (tmp_path / "notes.txt").write_text("no checkpoint")
    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", str(tmp_path)],
        env={**os.environ, interpreter.VARIABLE: "/nothing/here"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Python" not in done.stderr
    assert done.returncode == 3
