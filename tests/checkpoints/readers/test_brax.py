"""Brax and Playground checkpoints: the older ones by Brax's own trainer, today's by its own saver."""

import functools
import json
import shutil
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import orbax
from jaxdoctor.checkpoints.readers.brax import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of Brax 0.13.0's PPO: see tests/fixtures/make_brax_checkpoints.py."""
    folder = tmp_path_factory.mktemp("brax")
    shutil.unpack_archive(FIXTURES / "brax_0_13_0.zip", folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What today's Brax saves after three billion steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from brax.training import checkpoint
        from brax.training.acme import running_statistics, specs
        from brax.training.agents.ppo import networks

        small = functools.partial(
            networks.make_ppo_networks, policy_hidden_layer_sizes=(8,), value_hidden_layer_sizes=(8,)
        )
        network = small(4, 2)
        normalizer = running_statistics.init_state(specs.Array((4,), jnp.dtype("float32")))
        count = type(normalizer.count)(hi=jnp.uint32(1), lo=jnp.uint32(5))
        key = jax.random.PRNGKey(0)
        params = (
            normalizer.replace(count=count),
            network.policy_network.init(key),
            network.value_network.init(key),
        )
        config = checkpoint.network_config(
            observation_size=4, action_size=2, normalize_observations=True, network_factory=small
        )
        folder = tmp_path_factory.mktemp("today")
        checkpoint.save(folder, 3_000_000_000, params, config, "ppo_network_config.json")
    return folder / "003000000000"


def test_a_trained_run(trained):
    """The step is in the padded name, the count is a float32, and the config comes along."""
    assert not knows(READER, trained)
    for step in (1024, 2048):
        path = trained / f"{step:012d}"
        checkpoint = checkpoint_of(READER, path, Budget())
        leaves = {leaf.path: leaf for leaf in checkpoint.leaves}

        assert knows(READER, path)
        assert (checkpoint.format, checkpoint.step) == ("brax", step)
        assert leaves["0/count"].dtype == "float32"
        assert leaves["0/count"].values.sample(4).tolist() == [step]
        assert leaves["1/params/hidden_0/kernel"].dtype == "float32"
        assert checkpoint.metadata["network_config"]["normalize_observations"] is True
        assert checkpoint.faults == ()


def test_a_count_in_two_halves_stays_two_leaves(saved):
    """From 0.14 on the normalizer counts in two uint32: 2^32 + 5 here."""
    checkpoint = checkpoint_of(READER, saved, Budget())
    leaves = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert knows(READER, saved)
    assert checkpoint.step == 3_000_000_000
    assert [leaves[f"0/count/{half}"].dtype for half in ("hi", "lo")] == ["uint32", "uint32"]
    assert [int(leaves[f"0/count/{half}"].values.sample(4)[0]) for half in ("hi", "lo")] == [1, 5]


def test_playgrounds_notebooks_leave_no_network_config(trained, tmp_path):
    """The tree alone tells Brax then; the run's config stands one folder higher; a step can be negative."""
    path = shutil.copytree(trained / "000000002048", tmp_path / "-1627389952")
    (path / "ppo_network_config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps({"env": "CartpoleBalance"}))

    checkpoint = checkpoint_of(READER, path, Budget())

    assert knows(READER, path)
    assert checkpoint.step == -1627389952
    assert checkpoint.metadata["run_config"] == {"env": "CartpoleBalance"}


def test_any_other_orbax_checkpoint_is_not_brax(tmp_path):
    """A tree without Brax's normalizer is Orbax's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import orbax.checkpoint as ocp

    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "1", ({"count": np.zeros(())}, {"w": np.zeros(3)}))

    assert not knows(READER, tmp_path / "1")
    assert knows(orbax.READER, tmp_path / "1")


def test_a_hostile_config_does_not_stop_the_reading(trained, tmp_path):
    """200 000 levels of JSON in the config are a fault of their own."""
    path = shutil.copytree(trained / "000000002048", tmp_path / "000000002048")
    (path / "ppo_network_config.json").write_bytes(b"[" * 200_000)

    checkpoint = checkpoint_of(READER, path, Budget())

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert len(checkpoint.leaves) > 5


def test_damage_of_any_kind_is_calmly_told(trained):
    """Whatever happens to a file of the checkpoint, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(trained / "000000002048", happened) as path:
            insist_calm(READER, path)

    survive()
