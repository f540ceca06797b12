"""Writes two policies for hover.py with Brax's own functions: one that is fine, and a later one.

The later one's normaliser was fed an observation that is not finite, as one NaN among thousands of
environments does it. Training metrics were fine, for they are means over the episodes that ended.
"""

import contextlib
import io
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp

warnings.simplefilter("ignore")  # Brax warns of what it imports itself.


def main(folder):
    """Saves runs/hover/000000000100 and runs/hover/000000000200."""
    from brax.training.acme import running_statistics
    from brax.training.agents.ppo import checkpoint, networks

    network = networks.make_ppo_networks(2, 1, preprocess_observations_fn=running_statistics.normalize)
    normaliser = running_statistics.init_state(jnp.zeros(2))
    policy = network.policy_network.init(jax.random.key(0))
    value = network.value_network.init(jax.random.key(1))
    config = checkpoint.network_config(2, 1, True, networks.make_ppo_networks)
    checkpoint.save(folder, 100, (normaliser, policy, value), config)
    ill = running_statistics.update(normaliser, jnp.array([[1.0, 2.0], [jnp.nan, 0.0]]))
    later = network.policy_network.init(jax.random.key(2))
    checkpoint.save(folder, 200, (ill, later, value), config)


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):  # MJX prints what it cannot import.
        main(Path(sys.argv[1]).absolute())
