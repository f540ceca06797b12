"""Brax's checkpoint folders: the same actions as Brax's own inference, and every misfit named."""

import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.checkpoints.scan import Options, scan
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.rollouts.policy import Sizes, build_policy, load_policy, read_policy
from tests.paths import FIXTURES
from tests.rollouts.policies.brax_saved import saved_by_brax

KEY = jax.random.key(5)
CONFIG = "ppo_network_config.json"

ROUNDING = {"rtol": 8 * np.finfo(np.float32).eps, "atol": 8 * np.finfo(np.float32).eps}
"""Two compilations of the same sums of a dozen terms: https://nhigham.com/2020/08/04/what-is-numerical-stability/"""

PLAYGROUND = {"privileged_state": (6,), "state": (4,)}


def same_as_brax(saved, sizes, observation):
    """Likeliest and drawn actions and the raw output, one row and sixteen."""
    for stochastic in (False, True):
        policy = build_policy(read_policy(str(saved.checkpoint)), sizes, stochastic=stochastic)
        act = policy.apply(policy.parameters, observation, KEY)

        assert np.allclose(act.action, saved.acts(observation, KEY, not stochastic), **ROUNDING)
        raw = saved.logits(observation)
        assert np.allclose(act.output, np.concatenate(raw) if isinstance(raw, tuple) else raw, **ROUNDING)
    return policy, act


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"activation": jax.nn.elu, "policy_hidden_layer_sizes": (8,)},
        pytest.param({"activation": jnp.tanh, "distribution_type": "normal"}, marks=pytest.mark.slow),
        pytest.param(
            {"distribution_type": "normal", "noise_std_type": "log", "mean_clip_scale": 0.5},
            marks=pytest.mark.slow,
        ),
        {"distribution_type": "normal", "state_dependent_std": True},
        pytest.param(
            {"distribution_type": "normal", "state_dependent_std": True, "noise_std_type": "log"},
            marks=pytest.mark.slow,
        ),
    ],
    ids=[
        "defaults",
        "elu",
        "normal",
        "log-std",
        "state-dependent",
        "log-of-state",
    ],
)
def test_ppo_acts_as_in_brax(tmp_path, options):
    """Whatever the network and the distribution, to float32 rounding."""
    saved = saved_by_brax(tmp_path, **options)

    policy, act = same_as_brax(saved, Sizes(observation=4, action=2), jnp.linspace(-1.0, 2.0, 4))

    mean, std = policy.statistics.mean, policy.statistics.std
    assert np.array_equal(mean, saved.arrays[0].mean)
    assert np.allclose(act.normalised, (np.linspace(-1, 2, 4) - mean) / std, **ROUNDING)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_sac_acts_as_in_brax(tmp_path, layer_norm):
    """Its networks are wider and may normalise their layers."""
    saved = saved_by_brax(
        tmp_path, agent="sac", hidden_layer_sizes=(16, 16), policy_network_layer_norm=layer_norm
    )

    policy, _ = same_as_brax(saved, Sizes(observation=4, action=2), jnp.linspace(-1.0, 2.0, 4))

    assert policy.name == f"{saved.checkpoint} (Brax SAC)"


def test_of_playgrounds_observations_it_reads_its_own(tmp_path):
    """The policy reads the state, its critic more; statistics are kept of both."""
    saved = saved_by_brax(tmp_path, size=PLAYGROUND, value_obs_key="privileged_state")
    observation = {"privileged_state": jnp.full(6, jnp.nan), "state": jnp.linspace(-1.0, 2.0, 4)}

    policy, act = same_as_brax(saved, Sizes(observation=PLAYGROUND, action=2), observation)

    assert policy.observation_key == "state"
    assert policy.statistics.mean.shape == act.normalised.shape == (4,)


def test_without_a_normaliser_the_observation_goes_in_as_it_is(tmp_path):
    """Brax saves statistics all the same, which nothing reads."""
    saved = saved_by_brax(tmp_path, normalises=False)

    policy, act = same_as_brax(saved, Sizes(observation=4, action=2), jnp.linspace(-1.0, 2.0, 4))

    assert policy.statistics is None
    assert act.normalised.tolist() == jnp.linspace(-1.0, 2.0, 4).tolist()


def test_rows_can_be_mapped_and_kept_at_any_precision(tmp_path):
    """Under vmap a row is what it is alone, and in x64 the weights are of 64 bits."""
    saved = saved_by_brax(tmp_path)
    read = read_policy(str(saved.checkpoint))
    policy = build_policy(read, Sizes(observation=4, action=2))
    rows = jnp.linspace(-1.0, 2.0, 64).reshape(16, 4)
    mapped = jax.vmap(policy.apply, (None, 0, None))(policy.parameters, rows, KEY)
    alone = policy.apply(policy.parameters, rows[3], KEY)

    assert np.allclose(mapped.action[3], alone.action, **ROUNDING)
    with jax.enable_x64(True):
        wide = build_policy(read, Sizes(observation=4, action=2))
        act = wide.apply(wide.parameters, jnp.asarray(rows[3], jnp.float64), KEY)
        assert {leaf.dtype for leaf in jax.tree.leaves(wide.parameters)} == {jnp.dtype("float64")}
        assert act.action.dtype == jnp.float64
        assert np.allclose(act.action, alone.action, **ROUNDING)


def test_a_run_of_an_older_brax(tmp_path):
    """Brax 0.13.0 trained and saved it, with a float32 for a count and the shape of an observation."""
    shutil.unpack_archive(FIXTURES / "brax_0_13_0.zip", tmp_path)
    path = tmp_path / "000000002048"

    policy = load_policy(str(path), None, 2, 1, seed=0)
    act = policy.apply(policy.parameters, jnp.zeros(2), KEY)

    assert act.action.shape == (1,)
    assert np.isfinite(act.action).all()


def test_sizes_that_do_not_fit_are_both_named(tmp_path):
    """An environment of other observations, of other actions, without the one that is read."""
    saved = saved_by_brax(tmp_path / "flat")
    path = str(saved.checkpoint)
    both = str(saved_by_brax(tmp_path / "both", size=PLAYGROUND).checkpoint)

    with pytest.raises(UsageError, match="reads observations of 4 numbers, and the environment's have 27"):
        load_policy(path, None, 27, 2, seed=0)
    with pytest.raises(UsageError, match="gives 2 actions, and the environment takes 8"):
        load_policy(path, None, 4, 8, seed=0)
    with pytest.raises(UsageError, match="reads the observation 'state', and the environment gives 'pixels'"):
        load_policy(both, None, {"pixels": (4,)}, 2, seed=0)


def test_weights_of_another_network_than_the_configuration_are_refused(tmp_path):
    """Before any worker starts, with both networks."""
    path = saved_by_brax(tmp_path, policy_hidden_layer_sizes=(8, 8)).checkpoint
    config = json.loads((path / CONFIG).read_text())
    config["network_factory_kwargs"]["policy_hidden_layer_sizes"] = [32, 32]
    (path / CONFIG).write_text(json.dumps(config))

    with pytest.raises(
        UsageError, match="are a network of 4-8-8-4, and its configuration describes 4-32-32-4"
    ):
        read_policy(str(path))


def test_without_a_configuration_the_network_must_be_said(tmp_path):
    """Playground's notebooks leave none; in a few words it can be said what it is."""
    saved = saved_by_brax(tmp_path, activation=jax.nn.elu)
    (saved.checkpoint / CONFIG).unlink()
    path, observation = str(saved.checkpoint), jnp.linspace(-1.0, 2.0, 4)

    with pytest.raises(UsageError, match="no network configuration") as raised:
        read_policy(path)
    assert "--network brax:ppo,activation=elu" in raised.value.hint

    policy = load_policy(path, "brax:ppo,activation=elu", 4, 2, seed=0)
    action = policy.apply(policy.parameters, observation, KEY).action
    assert np.allclose(action, saved.acts(observation, KEY, True), **ROUNDING)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("brax:td3", "no network of Brax named 'td3'"),
        ("brax:ppo,width=3", "'width=3' in --network brax:ppo,width=3 says nothing of a network"),
        ("brax:ppo,distribution_type=beta", "draws its actions from 'beta'"),
        ("brax:ppo,activation=swisch", "no activation named 'swisch'"),
    ],
)
def test_what_cannot_be_said_of_a_network_is_refused(tmp_path, network, message):
    """Each with what can be said."""
    path = str(saved_by_brax(tmp_path).checkpoint)

    with pytest.raises(UsageError, match=message):
        load_policy(path, network, 4, 2, seed=0)


def test_of_a_runs_folder_the_newest_step_is_named(tmp_path):
    """One is replayed, and which is the user's to say; a path that is mistyped is no policy at all."""
    saved = saved_by_brax(tmp_path)
    shutil.copytree(saved.checkpoint, tmp_path / "000000002000")
    saved.params.unlink()

    with pytest.raises(UsageError, match="is a folder of policies") as raised:
        read_policy(str(tmp_path))
    assert raised.value.hint == f"name it, such as {saved.checkpoint}"
    with pytest.raises(UsageError, match="there is no file or folder"):
        read_policy(str(tmp_path / "000000009000"))


def test_a_damaged_checkpoint_is_not_replayed(tmp_path):
    """What is cut off or cannot be meant is an error, and not another policy."""
    saved = saved_by_brax(tmp_path)
    config = saved.checkpoint / CONFIG
    good = config.read_text()
    for bad in ('{"network_factory_kwargs": 3}', '{"network_factory_kwargs": {"activation": ', "[1]"):
        config.write_text(bad)
        with pytest.raises(UnreadableError):
            read_policy(str(saved.checkpoint))
    config.write_text(good)
    data = max((saved.checkpoint / "d").iterdir(), key=lambda file: file.stat().st_size)
    data.write_bytes(data.read_bytes()[:100])

    with pytest.raises(UnreadableError, match="cannot be replayed"):
        read_policy(str(saved.checkpoint))


def test_planted_nan_is_named_by_the_scan_and_still_loads(tmp_path):
    """One in the normaliser and one in a kernel: the scan names both, and the replay shows what they do."""

    def planted(pair):
        normaliser, policy = pair
        layer = policy["params"]["hidden_0"]
        layer["kernel"] = layer["kernel"].at[1, 2].set(jnp.nan)
        return normaliser.replace(std=normaliser.std.at[3].set(jnp.nan)), policy

    saved = saved_by_brax(tmp_path, fill=planted)

    findings = scan([saved.checkpoint], Options()).findings
    policy = load_policy(str(saved.checkpoint), None, 4, 2, seed=0)
    act = policy.apply(policy.parameters, jnp.zeros(4), KEY)

    named = {finding.location.leaf for finding in findings if finding.name == "nonfinite-values"}
    assert named == {"0/std", "1/params/hidden_0/kernel"}
    assert np.isnan(act.normalised).tolist() == [False, False, False, True]
    assert np.isnan(policy.statistics.std).sum() == 1
    assert np.isnan(act.action).all()
