"""Settings that JAX and XLA die of are found one by one, and this process lives."""

import os
import subprocess
import sys
import time

import pytest

from jaxdoctor.machine.refused import find_refusals
from jaxdoctor.machine.xla_flags import read_xla_flags

PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}


def refusals(**variables):
    flags = read_xla_flags(variables.get("XLA_FLAGS"))
    return find_refusals(PLAIN | variables, flags, time.monotonic() + 60)


def test_the_enum_of_popular_advice_is_refused_and_the_good_setting_kept():
    found = refusals(JAX_DEFAULT_MATMUL_PRECISION="jax.lax.Precision.HIGH", JAX_ENABLE_X64="1")

    assert list(found.settings) == ["JAX_DEFAULT_MATMUL_PRECISION"]
    assert 'Invalid value "jax.lax.Precision.HIGH"' in found.settings["JAX_DEFAULT_MATMUL_PRECISION"]
    assert found.variables == {"JAX_DEFAULT_MATMUL_PRECISION": None}


def test_unknown_flags_and_wrong_values_are_left_out():
    found = refusals(
        XLA_FLAGS="--xla_gpu_enable_tf32=false --xla_gpu_ftz=maybe --xla_gpu_autotune_level=0 --xla_nonsense"
    )

    assert found.unknown_flags == ("--xla_gpu_enable_tf32=false", "--xla_nonsense")
    assert found.refused_flags == {"--xla_gpu_ftz=maybe": "XLA cannot interpret the value 'maybe'"}
    assert found.variables == {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}


def test_flags_that_xla_takes_for_a_missing_file_are_unset():
    found = refusals(XLA_FLAGS="xla_gpu_ftz=true")

    assert "cannot be read" in found.refused_flags["XLA_FLAGS"]
    assert found.variables == {"XLA_FLAGS": None}


def test_nothing_is_found_where_jax_starts():
    assert refusals(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_gpu_ftz=true").variables == {}


@pytest.mark.parametrize("flag", ["--xla_cpu_use_fusion_emitters=true", "--xla_ignore_channel_id=true"])
def test_a_flag_that_comes_and_goes_is_found_by_trying(flag):
    """From jaxlib 0.12 on XLA does not know these; the installed one decides."""
    dies = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices()"],
        env=PLAIN | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flag},
        capture_output=True,
        check=False,
    )

    assert refusals(XLA_FLAGS=flag).unknown_flags == ((flag,) if dies.returncode else ())
