"""Update functions of real libraries, as targets of `check-update`."""

import jax
import jax.numpy as jnp


def train_state():
    """Flax linen, with a schedule in the optimizer."""
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    model = nn.Dense(4)
    params = model.init(jax.random.key(0), jnp.zeros((1, 8)))
    optimizer = optax.adamw(optax.cosine_decay_schedule(1e-3, 1000))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)

    def update(state, batch):
        loss, gradients = jax.value_and_grad(lambda params: jnp.mean(state.apply_fn(params, batch) ** 2))(
            state.params
        )
        return state.apply_gradients(grads=gradients), loss

    return update, state, jnp.zeros((32, 8))


def nnx_optimizer():
    """Flax NNX, split into a graph and a state."""
    import optax
    from flax import nnx

    model = nnx.Linear(8, 4, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    graph, state = nnx.split((model, optimizer))

    def update(state, batch):
        model, optimizer = nnx.merge(graph, state)
        gradients = nnx.grad(lambda model: jnp.mean(model(batch) ** 2))(model)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer))

    return update, state, jnp.zeros((32, 8))


def equinox_model():
    """Equinox, whose model holds its activation function as a leaf."""
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(8, 4, 16, 2, key=jax.random.key(0))
    optimizer = optax.adam(1e-3)
    state = (model, optimizer.init(eqx.filter(model, eqx.is_array)))

    @eqx.filter_jit
    def update(state, batch):
        model, opt_state = state
        gradients = eqx.filter_grad(lambda model: jnp.mean(jax.vmap(model)(batch) ** 2))(model)
        updates, opt_state = optimizer.update(gradients, opt_state, model)
        return eqx.apply_updates(model, updates), opt_state

    return update, state, jnp.zeros((32, 8))


def brax_ppo():
    """Brax's own PPO loss, networks, statistics and gradient update; its train loop starts on no new jax."""
    import functools

    import optax
    from brax.training import gradients, types
    from brax.training.acme import running_statistics, specs
    from brax.training.agents.ppo import losses, networks, train

    network = networks.make_ppo_networks(8, 2, preprocess_observations_fn=running_statistics.normalize)
    keys = jax.random.split(jax.random.key(0), 2)
    params = losses.PPONetworkParams(
        network.policy_network.init(keys[0]), network.value_network.init(keys[1])
    )
    optimizer = optax.adam(3e-4)
    loss = functools.partial(losses.compute_ppo_loss, ppo_network=network)
    step = gradients.gradient_update_fn(loss, optimizer, pmap_axis_name=None, has_aux=True)
    state = train.TrainingState(
        optimizer_state=optimizer.init(params),
        params=params,
        normalizer_params=running_statistics.init_state(specs.Array((8,), jnp.dtype("float32"))),
        env_steps=types.UInt64(hi=0, lo=0),
    )

    def update(state, batch, key):
        statistics = running_statistics.update(state.normalizer_params, batch.observation)
        (_, metrics), params, optimizer_state = step(
            state.params, statistics, batch, key, optimizer_state=state.optimizer_state
        )
        after = state.replace(
            params=params,
            optimizer_state=optimizer_state,
            normalizer_params=statistics,
            env_steps=state.env_steps + 32 * 10,
        )
        return after, metrics

    rows = (32, 10)
    batch = types.Transition(
        observation=jnp.zeros((*rows, 8)),
        action=jnp.zeros((*rows, 2)),
        reward=jnp.zeros(rows),
        discount=jnp.ones(rows),
        next_observation=jnp.zeros((*rows, 8)),
        extras={
            "state_extras": {"truncation": jnp.zeros(rows)},
            "policy_extras": {
                "raw_action": jnp.zeros((*rows, 2)),
                "log_prob": jnp.zeros(rows),
                "distribution_params": jnp.zeros((*rows, 4)),
            },
        },
    )
    return update, state, batch, jax.random.key(1)


def transformer():
    """Flax linen, twelve layers of GPT-2's width in bfloat16, under jit."""
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            attention = nn.MultiHeadDotProductAttention(num_heads=12, dtype=jnp.bfloat16)
            x = x + attention(nn.LayerNorm(dtype=jnp.bfloat16)(x))
            hidden = nn.gelu(nn.Dense(3072, dtype=jnp.bfloat16)(nn.LayerNorm(dtype=jnp.bfloat16)(x)))
            return x + nn.Dense(768, dtype=jnp.bfloat16)(hidden)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(50_257, 768, dtype=jnp.bfloat16)(tokens)
            for _ in range(12):
                x = Block()(x)
            return nn.Dense(50_257, dtype=jnp.float32)(x)

    model = Model()
    params = model.init(jax.random.key(0), jnp.zeros((1, 1024), jnp.int32))
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(3e-4, 10_000))
    )
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)

    @jax.jit
    def update(state, tokens):
        def loss(params):
            logits = state.apply_fn(params, tokens[:, :-1])
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value

    return update, state, jnp.zeros((8, 1025), jnp.int32)
