"""The two cures of products that need the bits, tried on systems in which they were planted."""

import time

import jax.numpy as jnp

from jaxdoctor.replay.local_cures import with_cures
from tests.replay.test_attribution import FINE, attributed, broken_by, system


def one(x):
    return x @ FINE


def other(x):
    return x @ FINE


def mixed(x):
    """A guilty product and one that is not."""
    grown = x @ FINE
    return grown, 0 * ((x + 1) @ FINE)


def step(x):
    return broken_by(one, x) + broken_by(other, x)


def beside(x):
    grown, harmless = mixed(x)
    return jnp.where(jnp.abs(grown / x - 1) < 2**-16, jnp.nan, x) + harmless


def cures(function):
    search, found = attributed(function)
    *_, tried = with_cures(found, search, search.hypotheses, system(function))
    return tried


def test_both_cures_of_two_guilty_products_are_tried_and_keep_it_finite():
    tried = cures(step)

    assert tried.cured
    assert set(tried.around.functions) == {f"{__name__}:one", f"{__name__}:other"}
    assert tried.around.finite
    assert tried.around.share == tried.share == 1
    assert 'test_local_cures.one = jax.default_matmul_precision("highest")(test_local_cures.one)' in (
        tried.around.statements
    )


def test_what_the_setting_raises_beside_the_guilty_product_is_said_with_its_price():
    tried = cures(beside)

    line = mixed.__code__.co_firstlineno + 2
    assert [need.place for need in tried.needs] == [f"test_local_cures.py:{line} (mixed)"]
    assert tried.around.functions == (f"{__name__}:mixed",)
    assert tried.around.beyond == (f"test_local_cures.py:{line + 1} (mixed)",)
    assert tried.around.share == 2 * tried.share


def test_without_time_no_cure_is_claimed():
    search, found = attributed(step)
    search.hypotheses.deadline = time.monotonic() - 1

    *_, tried = with_cures(found, search, search.hypotheses, system(step))

    assert tried.around is None
    assert tried.cured is None
