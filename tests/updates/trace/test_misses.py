"""What JAX writes of its cache misses, by the JAX that is installed."""

import jax
import jax.numpy as jnp

from jaxdoctor.updates.trace.misses import ANEW, NEW, Misses, reason


def test_each_kind_of_miss_has_its_reason(capfd):
    misses = Misses()
    step = jax.jit(lambda state: state + 1)

    def told(call):
        misses.messages.clear()
        call()
        return reason(misses.messages, "<lambda>")

    with misses.listening():
        assert told(lambda: step(jnp.ones(3))) == NEW
        assert told(lambda: step(jnp.ones(3))) is None
        assert told(lambda: step(jnp.ones(4))) == "at state, now f32[4] and before f32[3]"
        assert [told(lambda: jax.jit(lambda x: x * 2)(jnp.ones(3))) for _ in range(2)] == [NEW, ANEW]
    assert reason(["TRACING CACHE MISS at a.py:1:1 (f):\n  for g defined at a.py:1"], "f") is None
    assert "CACHE MISS" not in capfd.readouterr().err
