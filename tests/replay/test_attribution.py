"""The products that need the bits, found on systems in which they were planted."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.replay.attribution import Attributing
from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.hypotheses import FailingShares, OneStepErrors
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.scratch import Reference
from jaxdoctor.replay.system import Simulation
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import SILENT

SIZE, STEPS, REPLAYS = 8, 5, 16
TF32 = Lane(bits=10)

# Exact in 23 bits, and not in 10: what is left of it after rounding shows whether it was rounded.
FINE = jnp.eye(SIZE) * jnp.float32(1 + 2**-15)


def harmless(x):
    return x @ FINE


def first(x):
    return x @ FINE


def second(x):
    return x @ FINE


def broken_by(product, x):
    """NaN as soon as the product was rounded."""
    grown = product(x)
    return jnp.where(jnp.abs(grown / x - 1) < 2**-16, jnp.nan, x)


def system(step):
    return Simulation(
        step=lambda _, state, ctrl: {"qpos": step(state["qpos"]) + 0 * ctrl.sum()},
        parameters=(),
        blank={"qpos": jnp.ones((SIZE, SIZE))},
        controls=1,
        carried=("qpos",),
        state=("qpos",),
        coordinates="qpos",
        pipeline=("qpos",),
        seconds=0.01,
    )


def recording():
    return Recording(
        starts={"qpos": np.ones((REPLAYS, SIZE, SIZE))},
        ctrl=np.zeros((REPLAYS, STEPS, 1)),
        start="ones",
        controls="none",
    )


def attributed(step, **fields):
    ensemble = Ensemble(system(step), batch=REPLAYS, lanes=4)
    given = {"replays": REPLAYS, "deadline": time.monotonic() + 300, "aside": (), "progress": SILENT}
    asked = FailingShares(ensemble, recording(), **given | fields)
    search = Attributing(ensemble, TF32, asked, progress=SILENT)
    return search, search.run()


def line(function):
    return f"test_attribution.py:{function.__code__.co_firstlineno + 1} ({function.__name__})"


def test_one_guilty_product_is_named_alone_with_its_width():
    """1 + 2^-15 needs 15 bits."""
    _, found = attributed(lambda x: broken_by(first, x) + 0 * harmless(x))

    (need,) = found.needs
    assert need.place == line(first)
    assert need.bits == 15
    assert found.unique
    assert found.products == 2
    assert need.share == pytest.approx(0.5)


def test_two_that_are_guilty_independently_are_both_named():
    _, found = attributed(lambda x: broken_by(first, x) + broken_by(second, x) + 0 * harmless(x))

    assert {need.place for need in found.needs} == {line(first), line(second)}
    assert found.unique


def test_of_two_that_can_stand_in_for_one_another_each_is_named():
    def step(x):
        either = jnp.isnan(broken_by(first, x)) & jnp.isnan(broken_by(second, x))
        return jnp.where(either, jnp.nan, x) + 0 * harmless(x)

    _, found = attributed(step)

    assert len(found.needs) == 1
    assert len(found.others) == 1
    assert not found.unique


def written(number):
    """A product on a line of its own, five to a file."""
    space = {}
    source = "\n" * number + "def product(x, fine):\n    return x @ fine\n"
    exec(compile(source, f"/planted/file{number // 5}.py", "exec"), space)
    return lambda x: space["product"](x, FINE)


@pytest.mark.parametrize("planted", [(7, 31), (3, 17, 39)])
def test_among_forty_products_the_planted_ones_are_found(planted):
    """They are searched by their files first, and then one by one."""
    products = [written(number) for number in range(40)]

    def step(x):
        # Lost only where all of them were rounded would be another question: each alone breaks it.
        broken = [broken_by(products[number], x) for number in planted]
        quiet = [0 * product(x) for number, product in enumerate(products) if number not in planted]
        return sum(broken) / len(broken) + sum(quiet)

    _, found = attributed(step, replays=REPLAYS)

    assert [need.place for need in found.needs] == [
        f"file{number // 5}.py:{number + 2} (product)" for number in planted
    ]
    assert found.unique
    # Every product alone and all but each would be 80, before any width is tried.
    searched = found.hypotheses - 12 * len(planted)
    assert searched < 60


def test_without_time_nothing_is_claimed():
    _, found = attributed(lambda x: broken_by(first, x), deadline=time.monotonic() - 1)

    assert not found.needs
    assert found.undecided == "the time limit left no time for the search"


def test_where_float32_fails_too_no_product_is_blamed():
    _, found = attributed(lambda x: jnp.where(jax.nn.relu(first(x)) > -1, jnp.nan, x))

    assert not found.needs
    assert found.undecided == f"not decided by {REPLAYS} replays"


def rough(x):
    return x @ (jnp.eye(SIZE) * jnp.float32(1 + 2**-11))


def bounded(step, bound):
    """What a one-step error of the bound needs, against an exact replay."""
    ensemble = Ensemble(system(step), batch=REPLAYS, lanes=4)
    (exact,) = ensemble.roll_out(recording(), [Lane()])
    reference = Reference(states=exact.states, finite=np.ones(REPLAYS, bool), aside=())
    asked = OneStepErrors(
        ensemble, recording(), reference, bound=bound, deadline=time.monotonic() + 300, progress=SILENT
    )
    return Attributing(ensemble, TF32, asked, progress=SILENT).run()


def test_of_products_that_lose_accuracy_those_that_a_bound_needs_are_named():
    """`rough` loses 2^-11 of its result at 10 bits, `first` 2^-15."""

    def step(x):
        return rough(first(jnp.ones_like(x)))

    (need,) = bounded(step, 2.0**-13).needs
    assert need.place == line(rough)
    assert need.bits == 11

    assert {need.place for need in bounded(step, 2.0**-20).needs} == {line(rough), line(first)}


def test_where_the_bound_is_kept_or_out_of_reach_no_product_is_named():
    kept = bounded(lambda x: rough(jnp.ones_like(x)), 1e-2)
    assert not kept.needs
    assert kept.undecided.startswith("as delivered the one-step error is 4.9e-04, within the bound")

    beyond = bounded(lambda x: jnp.where(rough(x) > 0, jnp.nan, x), 1e-2)
    assert not beyond.needs
    assert beyond.undecided.startswith("with every product exact the one-step error is inf, above the bound")
