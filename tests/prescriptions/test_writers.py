"""Every snippet is executed by what it is written for."""

import json
import os
import re
import subprocess
import sys

import pytest

from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.prescriptions.writers import WRITERS
from tests.sample_reports import HOSTILE_NAME

SETTINGS = (
    Setting(
        means=Means.JAX,
        key="jax_default_matmul_precision",
        value="highest",
        because=("JD201",),
        reason="products lose bits that the mass matrix needs",
        price="2.1 x the time per step, here",
    ),
    Setting(
        means=Means.JAX, key="jax_enable_x64", value=True, because=("JD205",), reason="float32 is not enough"
    ),
    Setting(
        means=Means.XLA, key="xla_cpu_enable_fast_math", value=False, because=("JD107",), reason="hides NaN"
    ),
    Setting(
        means=Means.ENVIRONMENT, key="NVIDIA_TF32_OVERRIDE", value="0 $HOME\"'`x`", because=(), reason="odd"
    ),
)

WHOLE = Prescription(
    settings=SETTINGS, reach=("Warp",), conflicts=("a.json wants high, b.json wants default",)
)

VARIABLES = {
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "JAX_ENABLE_X64": "true",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=false",
    "NVIDIA_TF32_OVERRIDE": "0 $HOME\"'`x`",
}

ASK = (
    f"import json, os; print(json.dumps({{name: os.environ.get(name, '') for name in {list(VARIABLES)!r}}}))"
)


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not re.match("JAX|XLA|NVIDIA", name)}
    return {**kept, **more}


def said(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(**more))
    return json.loads(done.stdout)


def test_python_sets_jax_before_it_computes():
    code = WRITERS["python"](WHOLE) + (
        "import json, jax.numpy\n"
        "print(json.dumps([jax.config.jax_default_matmul_precision, str(jax.numpy.zeros(1).dtype),"
        " os.environ['XLA_FLAGS'].strip(), os.environ['NVIDIA_TF32_OVERRIDE']]))"
    )

    answer = said(sys.executable, "-c", code, JAX_PLATFORMS="cpu")

    assert answer == ["highest", "float64", VARIABLES["XLA_FLAGS"], VARIABLES["NVIDIA_TF32_OVERRIDE"]]


@pytest.mark.parametrize("name", ["shell", "sbatch"])
@pytest.mark.parametrize("before", ["", "--xla_dump_to=/tmp/x"])
def test_shell_exports_and_keeps_the_flags_that_were_there(name, before):
    script = f"set -euo pipefail\n{WRITERS[name](WHOLE)}\nexec {sys.executable} -c {json.dumps(ASK)}"

    answer = said("bash", "-c", script, XLA_FLAGS=before)

    assert answer.pop("XLA_FLAGS").split() == [*before.split(), VARIABLES["XLA_FLAGS"]]
    assert answer == {name: value for name, value in VARIABLES.items() if name != "XLA_FLAGS"}


def test_yaml_is_a_mapping_of_variables_that_jax_obeys():
    import yaml

    variables = yaml.safe_load(WRITERS["yaml"](WHOLE))["env"]
    code = (
        "import jax, json\n"
        "print(json.dumps([jax.config.jax_default_matmul_precision, jax.config.jax_enable_x64]))"
    )

    assert variables == VARIABLES
    assert said(sys.executable, "-c", code, JAX_PLATFORMS="cpu", **variables) == ["highest", True]


def test_env_files_hold_names_and_values_as_they_are():
    lines = [line for line in WRITERS["env"](WHOLE).splitlines() if not line.startswith("#")]

    assert dict(line.split("=", 1) for line in lines) == VARIABLES


def test_dockerfiles_escape_what_docker_expands():
    lines = [line for line in WRITERS["dockerfile"](WHOLE).splitlines() if not line.startswith("#")]

    assert lines == [
        'ENV JAX_DEFAULT_MATMUL_PRECISION="highest"',
        'ENV JAX_ENABLE_X64="true"',
        'ENV NVIDIA_TF32_OVERRIDE="0 \\$HOME\\"\'`x`"',
        'ENV XLA_FLAGS="--xla_cpu_enable_fast_math=false"',
    ]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_each_line_carries_its_reason_and_its_price(write):
    text = write(WHOLE)

    assert "# JD201: products lose bits that the mass matrix needs\n" in text
    assert "# costs: 2.1 x the time per step, here\n" in text
    assert text.count("# costs: ") == 1
    assert "# Warp\n" in text
    assert "# conflict, not set: a.json wants high, b.json wants default\n" in text


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_nothing_to_set_is_said(write):
    assert "# no settings needed for what was examined\n" in write(Prescription())


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_no_reason_ends_its_comment(write):
    """A line break in a reason would make a command of what follows it."""
    setting = Setting(
        means=Means.JAX, key="jax_x", value="y", because=(), reason=HOSTILE_NAME, price=HOSTILE_NAME
    )

    text = write(Prescription(settings=(setting,), reach=(HOSTILE_NAME,)))

    assert len([line for line in text.splitlines() if "smuggled" in line]) == 3
    assert all(line.lstrip().startswith("# ") for line in text.splitlines() if "smuggled" in line)
