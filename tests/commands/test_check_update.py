"""`jaxdoctor check-update` from outside."""

import json
import subprocess
import sys

import pytest

from tests.paths import ROOT


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "check-update", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )


def test_the_first_lines_say_that_code_is_executed_and_in_which_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))

    done = run("examples/update/train.py:cured")

    assert done.stderr.splitlines()[:2] == [
        "executing examples/update/train.py:cured in a process of its own, at most 120 s",
        f"examined {sys.executable}; for the active environment add --python {tmp_path}",
    ]
    assert done.stdout.startswith("\nexamples/update/train.py:cured")
    assert done.returncode == 0


def test_an_ill_update_fails_with_place_and_cure():
    done = run("examples/update/train.py:ill", "--calls-per-second", "244", "--format", "json")

    report = json.loads(done.stdout)
    assert done.returncode == report["exit_code"] == 1
    assert [finding["code"] for finding in report["findings"]] == ["JD501", "JD506", "JD507"]
    (signature,) = report["signatures"]
    assert (signature["verdict"], signature["rounds"], signature["compilations"]) == ("dtype drifts", 1, 0)
    counters = {each["leaf"]: (each["fate"], each["calls"]) for each in signature["counters"]}
    assert counters == {"env_steps": ("wraps", 524_288), "seen": ("stalls", 16_777_216)}


@pytest.fixture
def adam(tmp_path):
    path = tmp_path / "optimizer_target.py"
    path.write_text("import optax\ndef make(): return optax.adam(1e-3)\n")
    return f"{path}:make"


def test_a_transformation_by_dtype_and_by_x64_is_one_table(adam):
    done = run(
        adam, "--params", "w=float32[8,4]", "--x64", "both", "--params-dtype", "float32,bfloat16", "--verbose"
    )

    assert done.returncode == 0
    assert done.stdout.partition("\ntarget ")[2].count("stable") == 4
    assert all(heading in done.stdout for heading in ("x32, params", "x64, params", "bfloat16"))


def test_parameters_of_a_checkpoint_are_taken(tmp_path, adam):
    """Their paths, dtypes and shapes; its optimizer state is left out."""
    import numpy as np

    np.savez(
        tmp_path / "params.npz", **{"params/w": np.zeros((8, 4), np.float32), "opt_state/0/nu/w": np.zeros(4)}
    )
    (tmp_path / "optimizer_target.py").write_text("import optax\ndef make(): return optax.adam(1e-3)\n")

    done = run(
        f"{tmp_path}/optimizer_target.py:make", "--params", str(tmp_path / "params.npz"), "--format", "json"
    )

    (signature,) = json.loads(done.stdout)["signatures"]
    shapes = {leaf["path"]: leaf["shape_in"] for leaf in signature["leaves"]}
    assert shapes == {"0/count": [], "0/mu/params/w": [8, 4], "0/nu/params/w": [8, 4]}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["x.py:f", "--x64", "maybe"], "there is no --x64 setting named 'maybe'"),
        (["x.py"], "'x.py' names no function"),
        (["optax:adm"], "there is no function in optax named 'adm'"),
    ],
)
def test_misuse_is_two_lines(arguments, error):
    done = run(*arguments)

    *_, said, helped = done.stderr.splitlines()
    assert said == f"error: {error}"
    assert helped.startswith(" help: ")
    assert (done.returncode, done.stdout) == (2, "")
