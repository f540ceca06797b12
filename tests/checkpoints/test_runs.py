"""Runs as the real libraries write them: healthy ones are silent, each planted fault is judged right."""

import dataclasses
import functools
import json
import os
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan

SHAPE = (64, 48)
STEPS = (1000, 2000, 3000)


@pytest.fixture(scope="module")
def state():
    """A training state by Flax and Optax after a thousand updates, with all moments alive."""
    import optax
    from flax.training.train_state import TrainState

    key = jax.random.key(0)
    params = {"Dense_0": {"kernel": jax.random.normal(key, SHAPE), "bias": jnp.full(SHAPE[1], 0.123)}}
    made = TrainState.create(apply_fn=None, params=params, tx=optax.adam(1e-3))
    grads = jax.tree.map(lambda leaf: leaf * 0.1 + 0.01, params)
    made = made.apply_gradients(grads=grads)
    return jax.tree.map(lambda leaf: leaf, made)


def at(state, step):
    """The state as it is after so many updates."""
    adam, rest = state.opt_state
    adam = adam._replace(count=jnp.int32(step))
    return {
        "step": jnp.int32(step),
        "params": jax.tree.map(lambda leaf: leaf * (1 + step / 1e5), state.params),
        "opt_state": (adam, rest),
        "rng": jax.random.PRNGKey(step),
    }


def save_run(folder, states):
    """Orbax's own manager, a folder for each step."""
    import orbax.checkpoint as ocp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpointer = ocp.PyTreeCheckpointer()
        for step, saved in states.items():
            checkpointer.save(folder / str(step), saved)
    return folder


def found(folder, **options):
    return [(one.name, one.severity.word) for one in scan([folder], Options(**options)).findings]


def change(state, path, value):
    """The same tree with one leaf changed."""
    head, *rest = path
    if isinstance(state, dict):
        return {**state, head: change(state[head], rest, value) if rest else value}
    if isinstance(state, tuple) and isinstance(head, int):
        items = [change(one, rest, value) if index == head else one for index, one in enumerate(state)]
        return tuple(items)
    changed = change(getattr(state, head), rest, value) if rest else value
    return state._replace(**{head: changed})


def test_a_healthy_orbax_run_is_silent(tmp_path, state):
    assert found(save_run(tmp_path, {step: at(state, step) for step in STEPS})) == []


def in_x64(leaf):
    """What one operand in double precision leaves behind."""
    with jax.enable_x64(True):
        return jnp.asarray(leaf, jnp.float64) / 3


KERNEL = ("params", "Dense_0", "kernel")
NU = ("opt_state", 0, "nu", "Dense_0", "kernel")
COUNT = ("opt_state", 0, "count")
FAULTS = {
    "nan": (KERNEL, lambda leaf: leaf.at[3, 5].set(jnp.nan), {("nonfinite-values", "error")}),
    "wrap": (("step",), lambda _: jnp.int32(-1_627_389_952), {("counter-wrapped", "error")}),
    "saturated": (COUNT, lambda _: jnp.int32(2**31 - 1), {("counter-saturated", "error")}),
    "step behind": (("step",), lambda _: jnp.int32(2000), {("counter-disagrees", "warning")}),
    "narrow nu": (NU, lambda leaf: leaf.astype(jnp.bfloat16), {("optimizer-narrower", "warning")}),
    "one frozen layer": (NU, jnp.zeros_like, set()),
    "negative nu": (NU, lambda leaf: leaf.at[0, 0].set(-1e-6), {("dead-second-moment", "error")}),
    "rounded": (
        KERNEL,
        lambda leaf: leaf.astype(jnp.bfloat16).astype(jnp.float32),
        {("hidden-truncation", "warning")},
    ),
    "huge": (KERNEL, lambda leaf: leaf.at[0, 0].set(1e25), {("magnitude-extreme", "warning")}),
    "half": (
        KERNEL,
        lambda leaf: jnp.full_like(leaf, 65000.0).astype(jnp.float16),
        {("half-range", "warning")},
    ),
    "reshaped": (KERNEL, lambda leaf: jnp.stack([leaf, leaf]), {("tree-changed", "warning")}),
    "float64": (
        KERNEL,
        in_x64,
        {("x64-leak", "warning"), ("dtype-changed", "warning")},
    ),
}


BESIDE = {
    "narrow nu": {"dtype-changed"},
    "half": {"dtype-changed"},
    "wrap": {"counter-disagrees"},
    "saturated": {"counter-disagrees"},
    "step behind": {"step-not-advancing"},
}
"""What else is true of such a checkpoint."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(tmp_path, state, fault):
    """The last of three healthy saves gets one ill leaf."""
    path, ill, expected = FAULTS[fault]
    states = {step: at(state, step) for step in STEPS}
    leaf = functools.reduce(
        lambda tree, key: getattr(tree, key) if isinstance(key, str) and hasattr(tree, key) else tree[key],
        path,
        states[3000],
    )
    states[3000] = change(states[3000], path, ill(leaf))

    names = set(found(save_run(tmp_path, states)))

    assert expected <= names
    assert {name for name, _ in names - expected} <= BESIDE.get(fault, set())


def test_the_run_of_playground_48(tmp_path):
    """env_steps as int32 over a wrap until it is positive again, in Orbax folders named after it."""
    values = [666894336, 1333788672, 2000683008, -1627389952, -960495616, -293601280, 373293056]
    states = {value: {"env_steps": jnp.int32(value), "w": jnp.full(SHAPE, 0.1)} for value in values}

    run = scan([save_run(tmp_path, states)], Options())

    assert {(one.name, one.severity.word) for one in run.findings} == {("counter-wrapped", "error")}
    assert [saved.step for saved in run.checkpoints] == values


@pytest.fixture(scope="module")
def brax():
    """What a PPO run hands to Brax's own functions for saving."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from brax.training import checkpoint
        from brax.training.acme import running_statistics, specs
        from brax.training.agents.ppo import networks

        small = functools.partial(
            networks.make_ppo_networks, policy_hidden_layer_sizes=(16,), value_hidden_layer_sizes=(16,)
        )
        network = small(4, 2)
        key = jax.random.PRNGKey(0)
        config = checkpoint.network_config(
            observation_size=4, action_size=2, normalize_observations=True, network_factory=small
        )
        normalizer = running_statistics.init_state(specs.Array((4,), jnp.dtype("float32")))
        keys = jax.random.split(key)
        params = network.policy_network.init(keys[0]), network.value_network.init(keys[1])

    def moved(params, step):
        return jax.tree.map(lambda leaf: leaf * (1 + step / 1e10), params)

    def save(folder, counts, *, halves=True):
        for step, count in counts:
            kept = (
                type(normalizer.count)(hi=jnp.uint32(count >> 32), lo=jnp.uint32(count % 2**32))
                if halves
                else jnp.float32(count)
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checkpoint.save(
                    folder,
                    step,
                    (dataclasses.replace(normalizer, count=kept), *moved(params, step)),
                    config,
                    "ppo_network_config.json",
                )
        return folder

    return save


def test_a_healthy_brax_run_is_silent(tmp_path, brax):
    """Past 2^32 environment steps, and resumed: its folders start low while the count goes on."""
    counts = [(1_000_000, 4_294_000_000), (2_000_000, 4_295_500_000), (3_000_000, 4_296_500_000)]

    report = scan([brax(tmp_path, counts)], Options())

    assert report.findings == ()
    assert [saved.format for saved in report.checkpoints] == ["brax"] * 3
    assert [counter.value for saved in report.checkpoints for counter in saved.counters] == [
        count for _, count in counts
    ]


def test_a_brax_normaliser_that_stopped_is_found(tmp_path, brax):
    """Up to 0.13 its count was a float32, which stops at 2^24 times the batch."""
    counts = [(1_000_000, 2**34), (2_000_000, 2**35), (3_000_000, 2**35)]

    (finding,) = scan([brax(tmp_path, counts, halves=False)], Options()).findings

    assert finding.name == "counter-stalled"
    assert finding.message == "0/count stays at 34,359,738,368 = 2^24 * 2048 while the step goes on"


def test_folders_of_a_wrapped_brax_run_are_found(tmp_path, brax):
    """Brax up to 0.12.1 named them after an int32."""
    counts = [(2000683008, 2000683008), (-1627389952, 2667577344)]

    names = {finding.name for finding in scan([brax(tmp_path, counts)], Options()).findings}

    assert "counter-wrapped" in names


def save_trainer_run(folder, steps, *, max_steps=502, save_steps=500):
    """A run folder as transformers and TRL write it, with weights by safetensors."""
    from safetensors.numpy import save_file

    for index, step in enumerate(steps):
        place = folder / f"checkpoint-{step}"
        place.mkdir(parents=True)
        weights = np.random.default_rng(step).standard_normal(SHAPE, np.float32)
        save_file({"model.weight": weights}, place / "model.safetensors")
        config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "torch_dtype": "float32"}
        (place / "config.json").write_text(json.dumps(config))
        log = [{"step": one, "loss": 1.0, "val/ratio_var": float("nan")} for one in range(2, step + 1, 50)]
        trainer = {
            "global_step": step,
            "max_steps": max_steps,
            "save_steps": save_steps,
            "epoch": step / 7000,
            "log_history": log,
            "logging_steps": 50,
        }
        (place / "trainer_state.json").write_text(json.dumps(trainer))
        for path in (*place.iterdir(), place):
            os.utime(path, (1_700_000_000 + index, 1_700_000_000 + index))
    return folder


def test_the_run_of_trl_2124(tmp_path):
    """Every second step was saved after max_steps: https://github.com/huggingface/trl/issues/2124."""
    folder = save_trainer_run(tmp_path, [500, *range(502, 522, 2)])

    findings = {one.name: one for one in scan([folder], Options()).findings if one.severity > 1}

    assert set(findings) == {"save-interval-collapsed", "step-past-max"}
    assert findings["step-past-max"].message.startswith("global_step is 504 and max_steps is 502")


def test_a_healthy_trainer_run_only_notes_its_logged_nan(tmp_path):
    folder = save_trainer_run(tmp_path, [500, 1000, 1500, 1620], max_steps=1620)

    assert {finding.name for finding in scan([folder], Options()).findings} <= {"nonfinite-recorded"}


def test_fresh_states_of_other_optimizers_are_silent(tmp_path, state):
    """L-BFGS starts with infinities, MultiSteps counts slower than the steps, in msgpack and in a pickle."""
    import pickle

    import optax
    from flax import serialization

    params = state.params
    lbfgs = {"params": params, "opt": optax.lbfgs().init(params)}
    gathering = optax.MultiSteps(optax.apply_if_finite(optax.adam(1e-3), 3), 4)
    kept = gathering.init(params)
    for _ in range(5):
        _, kept = gathering.update(jax.tree.map(lambda leaf: leaf * 0.1 + 0.01, params), kept, params)
    (tmp_path / "lbfgs.pkl").write_bytes(pickle.dumps(lbfgs))
    saved = serialization.to_bytes({"step": 5, "params": params, "opt_state": kept})
    (tmp_path / "gathered.msgpack").write_bytes(saved)

    report = scan([tmp_path], Options())

    assert report.examined == 2
    assert [one for one in report.findings if one.severity > 1] == []
