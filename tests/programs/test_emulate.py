"""The rewritten program against one whose products are rounded by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.programs.emulate import emulate

HIGH, HIGHEST = jax.lax.Precision.HIGH, jax.lax.Precision.HIGHEST
A = np.random.default_rng(0).normal(size=(12, 12)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32)


def rounded(x, bits=10):
    return jax.lax.reduce_precision(x, 8, bits)


def product(a, b, rounding=rounded):
    return jnp.matmul(rounding(a), rounding(b), precision=HIGHEST)


def exact(x):
    return x


def written(mul):
    """Programs that multiply inside each kind of equation; `mul` is how they multiply."""

    @jax.custom_jvp
    def custom_jvp(a):
        return mul(a, a)

    custom_jvp.defjvp(lambda primals, tangents: (custom_jvp(*primals), tangents[0]))

    @jax.custom_vjp
    def custom_vjp(a):
        return mul(a, a)

    custom_vjp.defvjp(lambda a: (custom_vjp(a), a), lambda _, g: (g,))

    def doubly_scanned(a, b):
        def body(carry, x):
            carry = mul(carry, b) / 10 + x
            return carry, jnp.sum(mul(x, b), axis=0)

        return jax.lax.scan(body, a, jnp.stack([a, b]), reverse=True)

    def while_loop(a, b):
        return jax.lax.while_loop(
            lambda c: (c[1] < 3) & (mul(c[0], b)[0, 0] < 1e6), lambda c: (mul(c[0], b) / 10, c[1] + 1), (a, 0)
        )

    def cond(a, b):
        return jax.lax.cond(a[0, 0] > 100, lambda: a, lambda: mul(a, b))

    def switch(a, b):
        return jax.lax.switch(1, [lambda a: a, lambda a: mul(a, b) + 1, lambda a: -a], a)

    return {
        "plain": mul,
        "jit": jax.jit(lambda a, b: mul(a, b) + 1),
        "nested jit": jax.jit(lambda a, b: jax.jit(mul)(a, b) + jax.jit(mul)(b, a)),
        "scan": doubly_scanned,
        "while": while_loop,
        "cond": cond,
        "switch": switch,
        "custom_jvp": lambda a, b: custom_jvp(a) + b,
        "custom_vjp": lambda a, b: custom_vjp(a) + b,
        "remat": jax.checkpoint(mul),
        "scan in a cond in a jit": jax.jit(
            lambda a, b: jax.lax.cond(a[0, 0] < 100, lambda: doubly_scanned(a, b), lambda: (a, a[:2]))
        ),
    }


def matmul(a, b):
    return a @ b


def same(left, right):
    jax.tree.map(np.testing.assert_array_equal, left, right)


PROGRAMS = written(matmul)


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_inside_every_kind_of_equation_are_rounded(name):
    """At 10 bits the program gives what the same program with rounding written into it gives."""
    program = emulate(PROGRAMS[name], A, B)

    emulated = jax.jit(program.call)(program.widths(10), A, B)

    same(emulated, jax.jit(written(product)[name])(A, B))


@pytest.mark.parametrize("name", PROGRAMS)
def test_at_23_bits_the_program_is_the_one_that_was_given(name):
    """With every bit kept, nothing changes, to the last bit."""
    program = emulate(PROGRAMS[name], A, B)

    same(jax.jit(program.call)(program.untouched(), A, B), jax.jit(PROGRAMS[name])(A, B))


def test_a_loop_that_was_vmapped_ends_for_each_row_by_itself():
    """MJX's solver is such a loop: rows that have converged keep what they have."""

    def count_up(start, b):
        return jax.lax.while_loop(
            lambda c: c[0][0, 0] < 1e4, lambda c: ((c[0] + 1) @ b, c[1] + 1), (start * A, 0)
        )

    starts = jnp.asarray([1.0, 1e-3, 1e2])
    loops = jax.vmap(count_up, in_axes=(0, None))
    program = emulate(loops, starts, B)

    expected = jax.jit(loops)(starts, B)

    assert len(set(np.asarray(expected[1]).tolist())) > 1
    same(jax.jit(program.call)(program.untouched(), starts, B), expected)
    assert program.sites


def test_widths_can_be_swept_in_one_program():
    """Mapped over widths, it gives each its own answer."""
    program = emulate(matmul, A, B)
    widths = [program.widths(bits) for bits in (23, 10, 7)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *widths)

    swept = jax.vmap(program.call, in_axes=(0, None, None))(stacked, A, B)

    for index, bits in enumerate((23, 10, 7)):
        # Batched and unbatched kernels add in another order; 12 terms bound the difference.
        np.testing.assert_allclose(
            swept[index], product(A, B, functools.partial(rounded, bits=bits)), atol=1e-5
        )


@pytest.mark.parametrize(
    ("left", "right", "matrix"),
    [
        ((8, 8), (8, 8), True),  # (8 + 8) * 8 = 128
        ((6, 8), (8, 6), False),  # (6 + 6) * 8 = 96
        ((100, 100), (100,), False),  # a vector product below (m + n) * k = 10 000 000
        ((100, 100), (100, 1), False),
        ((1, 3160), (3160, 3160), False),  # (1 + 3160) * 3160 = 9 988 760
        ((1, 3170), (3170, 3170), True),  # (1 + 3170) * 3170 = 10 052 070
        ((8, 1, 4096), (8, 4096, 4096), True),
        ((50, 8, 8), (50, 8, 8), True),
        ((50, 6, 6), (50, 6, 6), False),  # batch dimensions do not count
    ],
)
def test_only_what_a_gpu_runs_on_matrix_units_is_rounded(left, right, matrix):
    """XLA's size threshold and its vector rule decide."""
    program = emulate(
        jnp.matmul, jax.ShapeDtypeStruct(left, "float32"), jax.ShapeDtypeStruct(right, "float32")
    )

    assert bool(program.sites) is matrix


def test_batching_decides_what_is_a_matrix_product():
    """A vector times a shared matrix becomes a matrix product once a batch of vectors is multiplied."""
    vector, matrix = jnp.ones(20), jnp.ones((20, 20))

    assert not emulate(jnp.matmul, vector, matrix).sites
    assert emulate(jax.vmap(jnp.matmul, in_axes=(0, None)), jnp.ones((8, 20)), matrix).sites


def test_all_products_can_be_asked_for():
    """The bound for hardware that rounds vector products too."""
    program = emulate(jnp.matmul, jnp.ones((3, 3)), jnp.ones(3), all_products=True)

    assert len(program.sites) == 1


@pytest.mark.parametrize(
    ("function", "explicit"),
    [
        (lambda a, b: jnp.matmul(a, b, precision=HIGHEST), None),
        (lambda a, b: jax.lax.dot(a, b, precision=(HIGHEST, HIGH)), None),
        (lambda a, b: jax.lax.dot(a, b, precision="F32_F32_F32"), None),
        (lambda a, b: a.astype(int) @ b.astype(int), None),
        (lambda a, b: a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16), None),
        (lambda a, b: jnp.matmul(a, b, precision=HIGH), True),
        (matmul, False),
    ],
)
def test_a_product_with_a_precision_of_its_own(function, explicit):
    """HIGHEST, integers and bfloat16 are left alone; HIGH is rounded and known to be out of reach."""
    program = emulate(function, A, B)

    assert [site.explicit for site in program.sites] == ([] if explicit is None else [explicit])


def test_an_explicit_precision_can_have_its_own_width():
    """What `highest` does not reach keeps the card's width while the rest gets every bit."""
    program = emulate(lambda a, b: (a @ b, jnp.matmul(a, b, precision=HIGH)), A, B)

    reached, unreached = program.call(program.widths(23, explicit_bits=10), A, B)

    same(reached, product(A, B, exact))
    same(unreached, product(A, B))


def test_convolutions_are_rounded():
    """A float32 convolution runs on matrix units too."""
    image, kernel = A.reshape(1, 1, 12, 12), B[:3, :3].reshape(1, 1, 3, 3)
    program = emulate(lambda x, k: jax.lax.conv(x, k, (1, 1), "SAME"), image, kernel)

    emulated = program.call(program.widths(10), image, kernel)

    same(emulated, jax.lax.conv(rounded(image), rounded(kernel), (1, 1), "SAME"))


def test_a_site_is_named_by_the_line_that_multiplies():
    """Not by a line of JAX, and one line is one site."""

    def multiplies_here(a, b):
        return a @ b

    (site,) = emulate(lambda a, b: multiplies_here(a, b) + jnp.linalg.norm(a), A, B).sites

    assert site.place.startswith("test_emulate.py:")
    assert site.place.endswith("(multiplies_here)")


def test_what_is_not_known_passes_through():
    """A primitive that the rewriting does not open still runs, and its products are listed."""
    mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.shard_map(matmul, mesh=mesh, in_specs=jax.P("devices"), out_specs=jax.P("devices"))
    program = emulate(spread, A, B)

    same(jax.jit(program.call)(program.widths(4), A, B), jax.jit(spread)(A, B))
    assert not program.sites
    assert [place.rpartition(" ")[2] for place in program.unreached] == ["(matmul)"]


def test_the_solver_of_a_linear_system_is_opened():
    """Its own products are rounded; those that only a derivative would run are not sites."""

    def solve(a, b, mul):
        return jax.lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: mul(a, b), symmetric=True)

    program = emulate(functools.partial(solve, mul=matmul), A, B)

    same(
        jax.jit(program.call)(program.widths(10), A, B), jax.jit(functools.partial(solve, mul=product))(A, B)
    )
    assert len(program.sites) == 1
    assert not program.unreached


def test_truncation_is_a_run_time_choice():
    program = emulate(matmul, A, B)
    truncated = jax.tree.map(lambda x: (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32), (A, B))

    same(program.call(program.widths(10, toward_zero=True), A, B), product(*truncated, exact))
