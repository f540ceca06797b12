"""StepCounter: arithmetic, transformations, checkpoints, neighbours."""

import pickle
import random
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxdoctor.remedies import StepCounter
from tests.paths import ROOT

WORD, LARGEST = 2**32, 2**64 - 1
EDGES = [0, 1, 2**16 - 1, 2**16, 2**31 - 1, 2**31, WORD - 1, WORD, WORD + 1, 2**53, 2**63 - 1]


def wide(counter):
    """The counts of many counters, as Python's integers."""
    hi, lo = np.asarray(counter.hi, np.uint64), np.asarray(counter.lo, np.uint64)
    return ((hi << np.uint64(32)) | lo).tolist()


def test_a_million_additions_agree_with_python_s_integers():
    """Starts over the whole range, addends of every size below 2^63, and every pair of edges."""
    size = 1_000_000
    generator = np.random.default_rng(0)
    starts = generator.integers(0, 2**64, size, dtype=np.uint64) >> generator.integers(
        0, 64, size, dtype=np.uint64
    )
    addends = generator.integers(0, 2**63, size, dtype=np.uint64) >> generator.integers(
        0, 63, size, dtype=np.uint64
    )
    starts[: len(EDGES) ** 2] = np.repeat(np.array(EDGES, np.uint64), len(EDGES))
    addends[: len(EDGES) ** 2] = np.tile(np.array(EDGES, np.uint64), len(EDGES))

    sums = wide(StepCounter.of(starts) + addends)

    expected = [
        (start + addend) % 2**64 for start, addend in zip(starts.tolist(), addends.tolist(), strict=True)
    ]
    assert sums == expected


def test_a_long_run_of_additions_keeps_count():
    generator = random.Random(0)
    counter, total = StepCounter.zero(), 0

    for _ in range(100):
        amount = generator.choice(EDGES) >> generator.randrange(20)
        counter, total = counter + amount, total + amount

    assert int(counter) == total % 2**64


@pytest.mark.parametrize(
    "amount",
    [
        2**31 + 5,
        np.int64(2**40),
        np.uint32(2**32 - 1),
        np.array(2**40, np.int64),
        jnp.uint32(2**32 - 1),
        jnp.int32(7),
        jnp.uint8(255),
        jnp.asarray(True),
        StepCounter.of(2**40),
    ],
    ids=lambda amount: type(amount).__name__,
)
def test_whatever_counts_can_be_added_from_either_side(amount):
    """Large Python integers and np.int64 are what Brax's UInt64 refuses."""
    start = StepCounter.of(2**32 - 3)

    assert int(start + amount) == 2**32 - 3 + int(amount)
    assert int(amount + start) == int(start + amount)


def test_it_wraps_at_2_to_the_64():
    """As unsigned integers do."""
    assert int(StepCounter.of(LARGEST) + 1) == 0
    assert int(StepCounter.of(LARGEST) + (2**63 - 1)) == 2**63 - 2


@pytest.mark.parametrize("amount", [-1, 2**64, np.array([-1])])
def test_what_cannot_be_added_is_refused(amount):
    with pytest.raises(ValueError, match=r"below 0|is negative|is not from 0 to 18446744073709551615"):
        StepCounter.zero() + amount


@pytest.mark.parametrize("amount", [1.0, np.array([1.0]), jnp.float32(1), "1"])
def test_only_integers_count(amount):
    with pytest.raises(TypeError, match="counts in integers"):
        StepCounter.zero() + amount


def test_a_negative_traced_value_counts_back():
    assert int(StepCounter.of(2**32) + jnp.int32(-1)) == 2**32 - 1


def test_comparison_is_that_of_the_integers():
    for one in EDGES:
        for other in EDGES:
            counter = StepCounter.of(one)
            assert [bool(x) for x in (counter < other, counter <= other, counter == other)] == [
                one < other,
                one <= other,
                one == other,
            ]
            assert [bool(x) for x in (counter > other, counter >= other, counter != other)] == [
                one > other,
                one >= other,
                one != other,
            ]


def test_it_survives_jit_vmap_and_scan_without_a_second_compile():
    traces = []

    @jax.jit
    def step(counter):
        traces.append(counter)
        return counter + 4096

    counter = StepCounter.of(2**32 - 4096)
    for _ in range(3):
        counter = step(counter)
    scanned, history = jax.lax.scan(
        lambda carry, _: (carry + 2**31, carry), StepCounter.zero(), None, length=5
    )
    mapped = jax.vmap(lambda counter, amount: counter + amount)(StepCounter.zero((3,)), jnp.arange(3))

    assert (len(traces), int(counter)) == (1, 2**32 + 2 * 4096)
    assert int(scanned) == 5 * 2**31
    assert wide(history) == [n * 2**31 for n in range(5)]
    assert wide(mapped) == [0, 1, 2]


def test_a_differentiated_function_may_carry_it():
    def loss(weights, counter):
        return (weights**2).sum() / counter.as_float32(), counter + 1

    gradient, counter = jax.jit(jax.grad(loss, has_aux=True))(jnp.ones(3), StepCounter.of(2**33))

    assert int(counter) == 2**33 + 1
    assert gradient.tolist() == [2 / 2**33] * 3


def test_as_float32_is_within_its_stated_error():
    generator = np.random.default_rng(1)
    size = 100_000
    counts = generator.integers(0, 2**64, size, dtype=np.uint64) >> generator.integers(
        0, 64, size, dtype=np.uint64
    )
    counts[:1000] = np.arange(2**24 - 1000, 2**24)

    floats = np.asarray(StepCounter.of(counts).as_float32(), np.float64).tolist()

    # Two roundings to nearest, of a word and of the sum, each within 2^-24 of a number that is not larger.
    bound = 2**-23
    assert all(abs(one - count) <= bound * count for one, count in zip(floats, counts.tolist(), strict=True))
    assert floats[:1000] == counts[:1000].tolist()


@pytest.mark.parametrize("count", [5, 2**31 + 3, 2**32 + 2**31 + 7, 2**40 + 12_345])
@pytest.mark.parametrize("before", [0, 1, 2**20, 2**31 - 1])
def test_a_wrapped_counter_is_repaired_from_any_lower_bound(count, before):
    """The old int32 holds the lower 32 bits; a bound that is less than 2^32 below tells the rest."""
    wrapped = np.array(count % WORD, np.uint32).view(np.int32)[()]

    assert int(StepCounter.from_wrapped(wrapped, at_least=max(count - before, 0))) == count


def test_the_count_of_a_playground_run_is_recovered():
    """https://github.com/google-deepmind/mujoco_playground/issues/48: 2000683008 and then -1627389952."""
    assert int(StepCounter.from_wrapped(-1627389952, at_least=2_000_683_008)) == 2_667_577_344


def test_numpy_gets_int64_and_gives_it_back():
    counter = StepCounter.of(np.array(EDGES))

    assert counter.to_numpy().dtype == np.int64
    assert counter.to_numpy().tolist() == EDGES
    assert bool((StepCounter.of(counter.to_numpy()) == counter).all())
    with pytest.raises(OverflowError, match="take int"):
        StepCounter.of(2**63).to_numpy()


def saved_with_orbax(counter, folder):
    import orbax.checkpoint as ocp

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "orbax", {"steps": counter})
        checkpointer.wait_until_finished()
        return checkpointer.restore(folder / "orbax", {"steps": StepCounter.zero()})["steps"]


def saved_with_flax(counter, folder):
    from flax import serialization

    (folder / "msgpack").write_bytes(serialization.to_bytes({"steps": counter + 0}))
    return serialization.from_bytes({"steps": StepCounter.zero()}, (folder / "msgpack").read_bytes())["steps"]


def saved_with_equinox(counter, folder):
    import equinox as eqx

    eqx.tree_serialise_leaves(folder / "model.eqx", counter)
    return eqx.tree_deserialise_leaves(folder / "model.eqx", StepCounter.zero())


def saved_with_pickle(counter, folder):
    return pickle.loads(pickle.dumps(counter))


def saved_with_numpy(counter, folder):
    np.savez(folder / "steps.npz", hi=counter.hi, lo=counter.lo)
    with np.load(folder / "steps.npz") as arrays:
        return StepCounter(hi=arrays["hi"], lo=arrays["lo"])


@pytest.mark.parametrize(
    "saved", [saved_with_orbax, saved_with_flax, saved_with_equinox, saved_with_pickle, saved_with_numpy]
)
def test_it_comes_back_from_a_checkpoint_equal(saved, tmp_path):
    counter = StepCounter.of(2**40 + 5)

    restored = saved(counter, tmp_path)

    assert isinstance(restored, StepCounter)
    assert bool(restored == counter)
    assert int(restored + 1) == 2**40 + 6


def test_brax_s_uint64_goes_in_and_out():
    from brax.training.types import UInt64

    theirs = UInt64(hi=3, lo=2**32 - 1)
    ours = StepCounter.of(theirs)

    assert int(ours) == int(theirs)
    assert int(ours + theirs) == 2 * int(theirs)
    assert bool(ours == theirs)
    assert int((ours + 1).to_brax() + 5) == int(theirs) + 6
    assert jax.tree.leaves(ours) == jax.tree.leaves(theirs)


DEVICES = """
import jax, jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P
from jaxdoctor.remedies import StepCounter
import numpy as np
counts = np.array([2**32 - 1, 2**33 - 1, 2**40 + 0xFFFF, 2**32 - 1], np.uint64)
assert jax.device_count() == 4
mesh = Mesh(np.array(jax.devices()), ("i",))
mapped = jax.jit(jax.shard_map(lambda c: (c + 1).psum("i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
summed = mapped(StepCounter.of(counts))
print(int(jax.tree.map(lambda leaf: leaf[0], summed)))
summed = jax.pmap(lambda c: (c + 1).psum("i"), axis_name="i")(StepCounter.of(counts))
print({int(jax.tree.map(lambda leaf: leaf[i], summed)) for i in range(4)})
print(sum(counts.tolist()) + 4)
"""


@pytest.mark.slow
def test_a_sum_over_devices_keeps_every_carry():
    """Four devices, whose lower words add up to more than 32 bits."""
    done = subprocess.run(
        [sys.executable, "-c", DEVICES],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
            "JAX_PLATFORMS": "cpu",
            "PATH": "/usr/bin",
        },
    )

    assert not done.returncode, done.stderr
    over_shards, over_pmap, expected = done.stdout.split()
    assert over_shards == expected
    assert over_pmap == "{" + expected + "}"


def test_without_x64_it_makes_no_64_bit_array():
    """Every leaf is a strong uint32."""
    counter = StepCounter.of(2**40) + 2**40

    assert [(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(counter)] == [(jnp.uint32, False)] * 2


def test_it_reads_as_its_count():
    assert repr(StepCounter.of(2**33)) == "StepCounter(8589934592)"


@pytest.mark.parametrize("wrapped", [-1627389952, np.int32(-1627389952), jnp.int32(-1627389952)])
def test_a_wrapped_count_is_refused_and_the_repair_is_named(wrapped):
    """It is what every old checkpoint past 2^31 holds."""
    with pytest.raises(ValueError, match="from_wrapped"):
        StepCounter.of(wrapped)


def test_zero_is_false():
    assert not StepCounter.zero()
    assert StepCounter.of(2**32)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(lambda counter: 1 if counter else 2)(StepCounter.zero())


@pytest.mark.parametrize("sentinel", [-1, np.int64(-1), jnp.int32(-1), np.array(-1)])
def test_every_count_is_above_a_negative_number(sentinel):
    """`last_saved = -1` is a usual beginning."""
    for count in (0, LARGEST):
        counter = StepCounter.of(count)
        assert bool(counter > sentinel)
        assert bool(counter >= sentinel)
        assert not bool(counter < sentinel)
        assert not bool(counter == sentinel)
        assert bool(jax.jit(lambda c, s: c > s)(counter, jnp.int32(-1)))


def test_nothing_but_an_integer_is_equal():
    assert (StepCounter.of(3) == None) is False  # noqa: E711
    assert (StepCounter.of(3) == "3") is False
    assert StepCounter.of(1) in [None, StepCounter.of(1)]
    assert StepCounter.of(1) < 2**70


@given(st.integers(0, LARGEST), st.integers(1, 2**31 - 1))
@settings(deadline=None, max_examples=200)
def test_division_by_a_constant_is_that_of_the_integers(count, divisor):
    quotient, remainder = divmod(StepCounter.of(count), divisor)

    assert (int(quotient), int(remainder)) == divmod(count, divisor)
    assert remainder.dtype == jnp.int32


@pytest.mark.parametrize("divisor", [1, 2, 3, 500, 2**16, 2**16 + 1, 10**6, 2**31 - 1])
def test_division_inside_jit(divisor):
    count = 2**63 + 2**32 + 12_345

    quotient, remainder = jax.jit(lambda counter: divmod(counter, divisor))(StepCounter.of(count))

    assert (int(quotient), int(remainder)) == divmod(count, divisor)


@pytest.mark.parametrize("divisor", [0, -3, 2**31])
def test_divisors_that_are_refused(divisor):
    with pytest.raises((ZeroDivisionError, ValueError)):
        StepCounter.of(3) % divisor


@pytest.mark.parametrize(
    "compute", [lambda c: c * 2, lambda c: 2 * c, lambda c: c / 2, lambda c: c % jnp.arange(2)]
)
def test_what_a_count_cannot_do_names_what_can(compute):
    with pytest.raises(TypeError, match="as_float32"):
        compute(StepCounter.of(3))


@given(st.integers(0, LARGEST), st.integers(0, LARGEST))
@settings(deadline=None, max_examples=200)
def test_subtraction_is_that_of_the_integers(one, other):
    high, low = max(one, other), min(one, other)

    assert int(StepCounter.of(high) - StepCounter.of(low)) == high - low
    assert int(StepCounter.of(high) - low) == high - low
    assert int(high - StepCounter.of(low)) == high - low
    clipped = min(high - low, 2**31 - 1)
    assert int(StepCounter.of(high).difference(StepCounter.of(low))) == clipped
    assert int(StepCounter.of(low).difference(StepCounter.of(high))) == -clipped


def test_nothing_is_below_zero():
    """Outside of jit that is said; inside, the count stops there."""
    with pytest.raises(ValueError, match="below 0"):
        StepCounter.of(3) - 4

    assert int(jax.jit(lambda a, b: a - b)(StepCounter.of(3), StepCounter.of(4))) == 0


def test_loggers_take_it():
    counter = StepCounter.of(3_000_000_000)

    assert f"{counter:,}" == "3,000,000,000"
    assert f"{counter}" == "3000000000"
    assert float(counter) == 3e9
    assert list(range(10))[StepCounter.of(3)] == 3
    assert np.asarray(counter).dtype == np.int64
    assert int(np.asarray(counter)) == 3_000_000_000
    assert int(np.asarray(StepCounter.of(LARGEST))) == LARGEST


def test_what_stands_in_its_place_can_be_printed():
    """A tree of types or shapes is what one prints when something is wrong."""
    state = {"n": StepCounter.zero()}

    assert "uint32" in repr(jax.eval_shape(lambda: state))
    assert repr(jax.tree.map(jnp.shape, state)) == "{'n': StepCounter(hi=(), lo=())}"
    assert "StepCounter" in repr(jax.tree.map(lambda leaf: str(leaf.dtype), state))


def test_a_batch_has_a_shape_and_items():
    batch = StepCounter.of(jnp.arange(3))

    assert (batch.shape, batch.ndim) == ((3,), 1)
    assert int(batch[1]) == 1
