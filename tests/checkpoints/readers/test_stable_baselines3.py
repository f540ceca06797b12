"""Zips of Stable-Baselines3."""

import base64
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import npz, torch
from jaxdoctor.checkpoints.readers.stable_baselines3 import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES

FIXTURE = FIXTURES / "stable_baselines3.zip"


def read(path):
    assert knows(READER, path)
    return checkpoint_of(READER, path, Budget())


def test_what_ppo_saves():
    """The count of steps from the JSON, weights and moments from the files of torch inside."""
    checkpoint = read(FIXTURE)
    found = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert checkpoint.faults == ()
    assert checkpoint.step == 16
    assert (found["data/num_timesteps"].value, found["data/num_timesteps"].host_scalar) == (16, True)
    assert found["policy/value_net.weight"].shape == (1, 2)
    assert np.isfinite(next(found["policy.optimizer/state/0/exp_avg_sq"].values.stream())).all()
    assert not knows(npz.READER, FIXTURE)
    assert not knows(torch.READER, FIXTURE)


def test_a_payload_in_the_json(tmp_path):
    """Functions are kept as pickles in base64; what they would call is looked at."""
    proof = tmp_path / "proof"
    payload = base64.b64encode(b"cposix\nsystem\n(S'touch " + str(proof).encode() + b"'\ntR.").decode()
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(FIXTURE) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "data":
                content = json.dumps({"lr_schedule": {":serialized:": payload}, "num_timesteps": 3}).encode()
            target.writestr(name, content)

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert checkpoint.step == 3
    assert not proof.exists()


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened):
    """Whatever happens to the bytes, reading ends calmly."""
    with damaged(FIXTURE, happened) as path:
        insist_calm(READER, path)


def without(path, *names, emptied=()):
    """The fixture without some members, and with others empty."""
    with zipfile.ZipFile(FIXTURE) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            if name not in names:
                target.writestr(name, b"" if name in emptied else source.read(name))
    return path


@pytest.mark.parametrize("share", [0.3, 0.7, 0.98])
def test_a_zip_that_was_cut_off(tmp_path, share):
    """It is known by its first member, also where a directory of a file within stands at its end."""
    path = tmp_path / "rl_model_64_steps.zip"
    content = FIXTURE.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])

    (fault,) = read(path).faults

    assert fault.kind == "truncated-file"
    assert fault.message == "rl_model_64_steps.zip is cut off: it ends before its zip directory"


@pytest.mark.parametrize("name", ["data", "policy.pth", "policy.optimizer.pth"])
def test_a_member_that_is_missing_or_empty(tmp_path, name):
    (missing,) = read(without(tmp_path / "missing.zip", name)).faults
    (empty,) = read(without(tmp_path / "empty.zip", emptied=[name])).faults

    assert missing.kind == "missing-file"
    assert name in missing.message
    assert (empty.kind, empty.message) == ("truncated-file", f"the member {name} is empty")


def test_a_member_of_zeros(tmp_path):
    path = tmp_path / "zeros.zip"
    with zipfile.ZipFile(FIXTURE) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            old = source.read(name)
            target.writestr(name, bytes(len(old)) if name == "policy.pth" else old)

    (fault,) = read(path).faults

    assert (fault.kind, fault.message) == ("corrupt-data", "the member policy.pth begins with zeros")


def test_an_algorithm_without_an_optimizer(tmp_path):
    """ARS of sb3-contrib moves its policy by itself."""
    path = without(tmp_path / "ars.zip", "data", "policy.optimizer.pth")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("data", json.dumps({"n_delta": 8, "num_timesteps": 16}))

    assert read(path).faults == ()
