"""A method that is jitted with a static self and donated state, under absl's main."""

import functools

import jax
import jax.numpy as jnp
import optax
from absl import app, flags
from jax import jit

FLAGS = flags.FLAGS
flags.DEFINE_integer("steps", 3, "How many.")


class Trainer:
    def __init__(self):
        self.tx = optax.sgd(0.1, momentum=0.9)
        self.params = {"w": jnp.ones(3, jnp.bfloat16)}
        self.opt_state = self.tx.init(self.params)

    @functools.partial(jit, static_argnums=0, donate_argnums=(1, 2))
    def update(self, params, opt_state, *, batch):
        gradients = jax.grad(lambda params: jnp.sum(params["w"] * batch))(params)
        updates, opt_state = self.tx.update(gradients, opt_state, params)
        return jax.tree.map(lambda p, u: p + jnp.float32(0.1) * u, params, updates), opt_state


def main(_):
    trainer = Trainer()
    for _ in range(FLAGS.steps):
        trainer.params, trainer.opt_state = trainer.update(
            trainer.params, trainer.opt_state, batch=jnp.ones(3)
        )


app.run(main)
