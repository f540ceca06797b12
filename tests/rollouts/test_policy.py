"""Policies: what is asked for is found, and what crosses to a worker is plain."""

import pickle
import subprocess
import sys

import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.policy import read_policy


def test_reading_brings_in_nothing_heavy():
    """A command finds the kinds of policies without JAX and without the packages of anyone's training."""
    code = (
        "import sys\n"
        "from jaxdoctor.rollouts.policy import POLICIES\n"
        "list(POLICIES.load_all())\n"
        "print([name for name in ('jax', 'numpy', 'flax', 'brax') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_what_is_read_crosses_the_pipe():
    """It is made of our own classes and plain values, so another Python understands it."""
    saved = read_policy(None)

    assert pickle.loads(pickle.dumps(saved)) == saved


def test_what_is_no_policy_is_said(tmp_path):
    """A path that nothing reads is an error that names what is read."""
    (tmp_path / "notes.txt").write_text("nothing")

    with pytest.raises(UsageError, match="is no policy that can be read") as raised:
        read_policy(str(tmp_path / "notes.txt"))

    assert "Brax checkpoint folder" in raised.value.hint
