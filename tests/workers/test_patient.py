"""Workers in an environment that holds JAX, MuJoCo, MJX, NumPy and what those need, and nothing else."""

import importlib.metadata
import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.paths import ROOT
from tests.workers.test_cache import compiled_twice

NEEDED = ("jax", "mujoco", "mujoco-mjx", "numpy")


def closure(names):
    """The distributions of these names with everything that they require."""
    found, waiting = {}, list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found[name] = importlib.metadata.distribution(name)
        requirements = map(Requirement, found[name].requires or ())
        waiting += [
            each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
    return found.values()


@pytest.fixture(scope="module")
def patient(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patient")
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for distribution in closure(NEEDED):
        # Links to directories: a file of a wheel looks for its neighbours where it was installed.
        for file in distribution.files or ():
            top = file.parts[0]
            if top not in {"..", "__pycache__"} and not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return folder


def jaxdoctor(*arguments, folder=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "jaxdoctor", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_of_jaxdoctors_own_dependencies_is_there(patient):
    (packages,) = patient.glob("lib/python*/site-packages")
    names = {path.name for path in packages.iterdir()}

    assert {"jax", "mujoco", "numpy"} <= names
    assert not {"typer", "rich", "yaml", "tensorstore", "platformdirs", "optax", "jaxdoctor"} & names


def test_the_machine_is_measured_there(patient):
    done = jaxdoctor("probe", "--level", "1", "--python", str(patient), "--format", "json")

    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert str(patient) in report["environment"]["examined"]
    assert report["environment"]["versions"]["jax"] == importlib.metadata.version("jax")
    assert report["environment"]["versions"]["optax"] is None
    assert report["deliveries"]


def test_an_update_is_traced_there(patient):
    done = jaxdoctor(
        "check-update", "examples/update/train.py:ill", "--python", str(patient), "--format", "json"
    )

    assert done.returncode == 1, done.stderr
    assert {"JD501", "JD506"} <= {finding["code"] for finding in json.loads(done.stdout)["findings"]}


def test_what_was_compiled_there_is_found_there_again(patient, tmp_path):
    first, second = compiled_twice(tmp_path, str(patient))

    assert first["hits"] == 0
    assert second["hits"] == second["asked"] > 0


@pytest.mark.slow
def test_a_model_is_replayed_there(patient):
    what = ("--scenario", "hand", "--card", "rtx-4090", "--steps", "20", "--no-cures")
    done = jaxdoctor("probe", *what, "--python", str(patient), "--format", "json")

    assert json.loads(done.stdout)["verdict"] == "precision", done.stderr


def test_a_package_that_is_missing_there_is_named(tmp_path):
    """MJX is an extra of ours: whoever lacks it learns what to install, or which Python to name."""
    venv.create(tmp_path, symlinks=True, with_pip=False)
    (packages,) = tmp_path.glob("lib/python*/site-packages")
    for distribution in closure(["jax", "mujoco"]):
        for file in distribution.files or ():
            top = file.parts[0]
            blocked = top in {"..", "__pycache__", "mujoco"}
            if not blocked and not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))

    done = jaxdoctor("probe", "--scenario", "hand", "--python", str(tmp_path))

    assert done.returncode == 2
    assert "mujoco is not installed for" in done.stderr
    assert "--python" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_update_that_needs_what_is_missing_is_no_traceback(patient, tmp_path):
    (tmp_path / "train.py").write_text("import optax\n")

    done = jaxdoctor("check-update", "train.py:make", "--python", str(patient), folder=tmp_path)

    assert done.returncode in {2, 3}
    assert "optax" in done.stderr
    assert "Traceback" not in done.stderr


def test_remedies_need_jax_alone(patient):
    """`pip install --no-deps jaxdoctor` in a training environment is enough for them."""
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); import jaxdoctor.remedies\n"
        "tops = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*tops & {'typer', 'rich', 'mujoco', 'yaml', 'optax'})"
    )
    python = patient / "bin" / "python"
    done = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_the_bootstrap_stands_beside_the_package():
    """It is run as a file, by a Python that cannot import it."""
    from jaxdoctor.workers.interpreter import BOOTSTRAP

    assert BOOTSTRAP.is_file()
    assert (Path(BOOTSTRAP).parents[1] / "__init__.py").is_file()
