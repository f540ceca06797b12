"""A setting in an environment, a shell and Python: each does the same."""

import json
import os
import subprocess
import sys

import pytest

from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.prescriptions.statements import in_python, in_shell, variable, variables


def setting(means, key, value):
    return Setting(means=means, key=key, value=value, because=(), reason="r")


ALL = (
    setting(Means.JAX, "jax_enable_x64", value=True),
    setting(Means.XLA, "xla_cpu_enable_fast_math", value=False),
    setting(Means.XLA, "xla_dump_to", value="a b$c"),
    setting(Means.ENVIRONMENT, "PJRT_NPROC", value="16"),
)

NAMES = ("JAX_ENABLE_X64", "XLA_FLAGS", "PJRT_NPROC")


def test_all_flags_are_one_variable():
    found = {name: value for name, value, _ in variables(Prescription(settings=ALL))}

    assert found == {
        "JAX_ENABLE_X64": "true",
        "PJRT_NPROC": "16",
        "XLA_FLAGS": "--xla_cpu_enable_fast_math=false --xla_dump_to=a b$c",
    }
    assert [variable(one) for one in ALL] == ["JAX_ENABLE_X64", "XLA_FLAGS", "XLA_FLAGS", "PJRT_NPROC"]


def test_a_shell_sets_what_the_environment_needs_and_keeps_earlier_flags():
    script = "\n".join(
        [*map(in_shell, ALL), f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"]
    )

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "XLA_FLAGS": "--old=1"},
        capture_output=True,
        text=True,
        check=True,
    )

    seen = json.loads(done.stdout)
    assert seen["JAX_ENABLE_X64"] == "true"
    assert seen["XLA_FLAGS"].split(" ", 1) == [
        "--old=1",
        "--xla_cpu_enable_fast_math=false --xla_dump_to=a b$c",
    ]


@pytest.mark.parametrize("one", ALL[1:], ids=lambda one: one.key)
def test_python_sets_the_same_variable(one, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--old=1")
    monkeypatch.delenv("PJRT_NPROC", raising=False)

    exec(in_python(one), {"os": os})

    assert os.environ[variable(one)].endswith(one.word)
    assert os.environ["XLA_FLAGS"].startswith("--old=1")
