"""Counters: what is read off the program, against running it."""

import itertools
import random

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.signature import Fate
from jaxdoctor.updates.trace.limits import of_integer, stall
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced


def counters(update, state, *args):
    return {
        each.leaf: each for each in sign(lambda: Traced(update=update, state=state, args=args), "x").counters
    }


def counted(update, start, *args):
    """The only counter of a state that is one number."""
    (counter,) = counters(lambda state, *more: {"n": update(state["n"], *more)}, {"n": start}, *args).values()
    return counter


def scanned(n):
    return jax.lax.scan(lambda carry, _: (carry + 2, None), n, None, length=5)[0]


def nested(n):
    return jax.lax.scan(lambda carry, _: (scanned(carry), None), n, None, length=3)[0]


@jax.jit
def jitted(n):
    return jax.jit(lambda n: n + 3)(n) + 1


@pytest.mark.parametrize(
    ("update", "increment"),
    [
        (lambda n: n + 1, 1),
        (lambda n: 4096 + n, 4096),
        (lambda n: n - 1, -1),
        (lambda n: n + jnp.int32(32) * 10, 320),
        (lambda n: n + jnp.prod(jnp.array([32, 10])), 320),
        (lambda n: n + jnp.sum(jnp.ones((8, 4), jnp.int32)), 32),
        (lambda n: (n.astype(jnp.float32).astype(jnp.int32)) + 7, 7),
        (scanned, 10),
        (nested, 30),
        (jitted, 4),
        (lambda n: jax.lax.fori_loop(0, 6, lambda _, n: n + 2, n), 12),
        (jax.checkpoint(lambda n: n + 5), 5),
        (lambda n: jax.lax.cond(True, lambda n: n + 9, lambda n: n, n), 9),
    ],
)
def test_the_increment_is_what_a_call_really_adds(update, increment):
    """Whatever calls, loops and conversions it goes through."""
    counter = counted(update, jnp.int32(100))

    assert counter.increment == increment == int(update(jnp.int32(100))) - 100
    assert (counter.fate, counter.start, counter.conditional) == (Fate.WRAPS, 100, False)


@pytest.mark.parametrize(
    "update",
    [
        lambda n, done: jnp.where(done, n + 64, n),
        lambda n, done: jax.lax.cond(done, lambda: n + 64, lambda: n),
        lambda n, done: done * (n + 64) + (1 - done) * n,
    ],
)
def test_a_conditional_increment_is_a_bound(update):
    counter = counted(update, jnp.int32(0), jnp.asarray(True))

    assert (counter.fate, counter.increment, counter.conditional) == (Fate.WRAPS, 64, True)


@pytest.mark.parametrize(
    "update",
    [
        lambda n, _: (n + 1) % 1000,
        lambda n, _: jnp.where(n == 999, 0, n + 1),
        lambda n, done: jnp.where(done, 0, n + 1),
    ],
)
def test_a_counter_that_begins_anew_has_no_limit(update):
    assert counted(update, jnp.int32(0), jnp.asarray(True)).fate is Fate.RESETS


@pytest.mark.parametrize(
    "update",
    [
        lambda n: jnp.where(n < 100, n + 1, 100),
        lambda n: jnp.minimum(n + 1, 100),
        lambda n: jnp.clip(n + 1, 0, 100),
        lambda n: jnp.where(n < 100, n + 1, n),
        lambda n: jnp.where(n >= 100, n, n + 1),
        lambda n: jnp.where(n == 100, n, n + 1),
        lambda n: jnp.where((n < 100) & (n < 1000), n + 1, n),
        lambda n: jnp.where(~(n >= 100), n + 1, n),
        lambda n: n + (n < 100),
        lambda n: jnp.minimum(n, 99) + 1,
        lambda n: jnp.where(n + 1 >= 100, 100, n + 1),
        lambda n: jax.lax.cond(n < 100, lambda: n + 1, lambda: n),
    ],
)
def test_a_counter_that_its_author_holds_back_is_capped_when_it_really_is(update):
    counter = counted(update, jnp.int32(0))
    jitted_update, value = jax.jit(update), jnp.int32(0)
    for reached in itertools.count(1):  # noqa: B007 (what is wanted is the count)
        value = jitted_update(value)
        if value == 100:
            break

    assert (counter.fate, counter.limit, counter.calls) == (Fate.CAPPED, 100, reached)


@pytest.mark.parametrize(
    "update",
    [
        lambda n: jnp.where(n < 2**31 - 1, n + 1, n),
        lambda n: jnp.minimum(n, 2**31 - 2) + 1,
        optax.safe_increment,
    ],
)
def test_a_counter_that_is_held_at_its_dtype_s_own_end_saturates(update):
    counter = counted(update, jnp.int32(0))

    assert (counter.fate, counter.limit) == (Fate.SATURATES, 2**31 - 1)
    assert int(update(jnp.int32(2**31 - 1))) == 2**31 - 1


@pytest.mark.parametrize(
    "update",
    [
        lambda n, done: jnp.where(done, jnp.minimum(n + 1, 100), n + 5),
        lambda n, done: jnp.where((n < 100) | done, n + 1, n),
        lambda n, done: jnp.where(n < 100, n, n + 1) + done,
    ],
)
def test_a_limit_that_one_branch_passes_is_none(update):
    """Each of these really goes beyond 100."""
    value = jnp.int32(99)
    for done in (False, False, True, True):
        value = update(value, jnp.asarray(done))

    counter = counted(update, jnp.int32(0), jnp.asarray(True))

    assert counter.fate is Fate.WRAPS


def test_a_rate_that_falls_to_a_floor_ends_there():
    """Exploration by `maximum(eps - 1e-6, 0.05)`, and without the floor."""
    floored = counted(lambda eps: jnp.maximum(eps - 0.5, 0.25), jnp.float32(3))
    falls = counted(lambda eps: eps - 1e-6, jnp.float32(1))

    assert (floored.fate, floored.limit, floored.calls) == (Fate.CAPPED, 0.25, 6)
    assert (falls.fate, falls.limit) == (Fate.STALLS, -32)
    assert falls.growth == "falls by 1e-06"
    assert np.float32(falls.limit) - np.float32(1e-6) == np.float32(falls.limit)


@pytest.mark.parametrize("increment", [1, jnp.bfloat16(1)])
def test_a_bfloat16_count_stands_still_at_256(increment):
    counter = counted(lambda n: n + increment, jnp.bfloat16(0))

    assert (counter.fate, counter.calls, counter.limit) == (Fate.STALLS, 256, 256)


@pytest.mark.parametrize(
    "step",
    [
        lambda low, high: (low + jnp.uint32(7), high + ((low + jnp.uint32(7)) < low)),
        lambda low, high: (low + jnp.uint32(7), jnp.where(low + jnp.uint32(7) < 7, high + 1, high)),
        lambda low, high: (low + jnp.uint32(7), high + (low > low + jnp.uint32(7)).astype(jnp.uint32)),
    ],
)
def test_two_words_are_known_by_their_carry(step):
    """Whatever they are called."""

    def update(state):
        low, high = step(state["steps_a"], state["steps_b"])
        return {"steps_a": low, "steps_b": high}

    (counter,) = counters(update, {"steps_a": jnp.uint32(0), "steps_b": jnp.uint32(0)}).values()

    assert (counter.leaf, counter.dtype, counter.increment) == ("steps", "uint32x2", 7)


@pytest.mark.parametrize(
    ("transform", "read"),
    [
        (optax.adam(1e-3), False),
        (optax.nadamw(1e-3), False),
        (optax.adam(optax.cosine_decay_schedule(1e-3, 1000)), True),
    ],
)
def test_a_count_that_only_corrects_a_bias_is_told_from_one_that_a_schedule_reads(transform, read):
    params = {"w": jnp.ones(3)}

    def update(state, gradients):
        updates, opt_state = transform.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt_state}

    found = counters(update, {"params": params, "opt": transform.init(params)}, params)

    assert any(counter.read for counter in found.values()) is read


def test_an_increment_that_depends_on_data_is_said_to():
    assert counted(lambda n, done: n + done.sum(), jnp.int32(0), jnp.ones(3, jnp.int32)).fate is Fate.UNKNOWN


def test_what_is_no_counter_is_not_listed():
    """A key, a leaf that stays, and one that is replaced."""
    state = {"key": jnp.uint32(3), "same": jnp.int32(1), "new": jnp.int32(2), "w": jnp.ones(3)}

    def update(state, batch):
        changed = {
            "key": state["key"] * 3 + 7,
            "new": jnp.argmax(batch).astype(jnp.int32),
            "w": state["w"] + 1,
        }
        return state | changed

    assert not counters(update, state, jnp.ones(4))


def test_a_start_that_a_traced_target_computes_is_known():
    """The target is traced too: nothing is computed, and its constants are."""

    def make():
        start = jnp.zeros((), jnp.int32) + 5 * 10
        return Traced(update=lambda state: {"n": state["n"] + start}, state={"n": start})

    (counter,) = sign(make, "x").counters

    assert (counter.start, counter.increment) == (50, 50)


@pytest.mark.parametrize(
    ("dtype", "increment", "start"),
    [
        ("int8", 1, 0),
        ("int8", 7, 100),
        ("uint8", 1, 0),
        ("uint8", 50, 10),
        ("int16", 1000, 5),
        ("int8", -3, 4),
    ],
)
def test_the_call_at_which_an_integer_wraps(dtype, increment, start):
    """Small dtypes are really counted up until they wrap."""
    value, calls = np.array(start, dtype), 0
    while True:
        after = (value.astype(np.int64) + increment).astype(dtype)
        calls += 1
        if (int(after) - int(value)) != increment:
            break
        value = after

    assert of_integer("n", dtype, increment=increment, start=start).calls == calls


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("increment", [1.0, 2.0, 3.0, 0.5, 0.125, 5.0, 7.0, 12.0, 0.1, 31.0])
@pytest.mark.parametrize("start", [0.0, 10.0, 100.0])
def test_the_call_at_which_a_float_stalls(dtype, increment, start):
    """Half precision is really added up until a sum stands still."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    step, total, calls = kind.type(increment), kind.type(start), 0
    with np.errstate(over="ignore"):
        while total + step != total:
            total, calls = kind.type(total + step), calls + 1

    stated, limit, inexact = stall(float(step), start, dtype)

    # Where the sums leave the range before they stall, the limit is the end of the range.
    assert (stated, limit) == (calls, min(float(total), 2.0**16) if dtype == "float16" else float(total))
    assert inexact is None or 0 <= inexact <= calls


def test_a_float32_count_stalls_at_2_to_the_24_times_its_increment():
    """What Brax's normalizer did before 0.14: https://github.com/google/brax/commit/ca7649c."""
    counter = counted(lambda n: n + 2048.0, jnp.float32(0))

    assert (counter.fate, counter.calls, counter.limit) == (Fate.STALLS, 2**24, 2**24 * 2048)
    assert np.float32(counter.limit) + np.float32(2048) == np.float32(counter.limit)


def test_two_words_are_one_counter():
    from jaxdoctor.remedies import StepCounter

    (counter,) = counters(lambda state: {"n": state["n"] + 4096}, {"n": StepCounter.zero()}).values()

    assert (counter.leaf, counter.dtype, counter.increment, counter.limit) == (
        "n",
        "uint32x2",
        4096,
        2**64 - 1,
    )


def random_update(generator):
    """A program of a few additions on an int8, some within loops, calls and conversions."""
    steps = []
    for _ in range(generator.randrange(1, 4)):
        amount, kind = generator.choice([-2, 1, 3]), generator.randrange(4)
        if kind == 0:
            steps.append(lambda n, amount=amount: n + amount)
        elif kind == 1:
            steps.append(jax.jit(lambda n, amount=amount: n + jnp.int8(amount)))
        elif kind == 2:
            length = generator.randrange(1, 4)
            steps.append(
                lambda n, a=amount, k=length: jax.lax.scan(lambda c, _: (c + a, None), n, None, length=k)[0]
            )
        else:
            steps.append(lambda n, amount=amount: (n.astype(jnp.float32)).astype(jnp.int8) + amount)

    def update(n):
        for step in steps:
            n = step(n)
        return n

    return update


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_wrap_at_the_call_that_was_told(seed):
    """Each is run until an int8 differs from the integer that it stands for."""
    generator = random.Random(seed)
    update, start = random_update(generator), generator.randrange(50)
    found = counters(lambda state: {"n": update(state["n"])}, {"n": jnp.int8(start)})
    increment = int(update(jnp.int8(0)))

    if increment == 0:
        assert not found
        return

    counter, jitted_update, value = found["n"], jax.jit(update), jnp.int8(start)
    for calls in itertools.count(1):
        value = jitted_update(value)
        if int(value) != start + calls * increment:
            break
    assert (counter.fate, counter.increment, counter.calls) == (Fate.WRAPS, increment, calls)


def test_additions_of_a_loop_are_counted_at_every_pass():
    """The 16 gradient steps of one update take as long as 16 updates of one."""

    def update(state):
        def body(carry, _):
            return {"step": carry["step"] + 1, "frames": carry["frames"]}, None

        state, _ = jax.lax.scan(body, state, None, length=16)
        return {"step": state["step"], "frames": state["frames"] + 16 * 4096}

    found = counters(update, {"step": jnp.int32(0), "frames": jnp.int32(0)})
    step, frames = found["step"], found["frames"]

    assert (step.increment, step.additions, step.urgency(None)) == (16, 16, None)
    assert (frames.increment, frames.additions, frames.urgency(None)) == (65536, 1, Severity.WARNING)
