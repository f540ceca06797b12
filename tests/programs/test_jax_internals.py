"""Each answer about a traced program against what JAX itself makes of the same program."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from jaxdoctor.errors import UnsupportedJaxError
from jaxdoctor.programs import jax_internals

TABLE = np.arange(3, dtype=np.float32)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def equation(name, function, *arguments):
    """The only equation of that name in the traced function, and the values that go into the program."""
    closed = jax.make_jaxpr(function)(*arguments)
    (found,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name in name]
    return closed, found


def evaluate(closed, values):
    """JAX's own interpreter."""
    return jax.jit(jax.extend.core.jaxpr_as_fun(closed))(*values)


def arrays(values):
    return [np.asarray(value) for value in values]


def same(left, right):
    left, right = arrays(left), arrays(right)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def scanned(carry, counter, rows, scale, *, reverse=False, unroll=1):
    """Two constants, two carries, one stack of inputs, two of outputs."""

    def body(carry, row):
        total, count = carry
        total = total * 0.5 + row * scale + jnp.asarray(TABLE)
        return (total, count + 1), (total.sum(), count)

    return jax.lax.scan(body, (carry, counter), rows, reverse=reverse, unroll=unroll)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2])
def test_a_scan_run_step_by_step_from_its_parts_is_the_scan(reverse, unroll):
    """Constants, carries and slices are distinguished as JAX does."""
    inputs = (jnp.ones(3), jnp.int32(7), jnp.asarray(ROWS), jnp.float32(3))

    def function(*values):
        return scanned(*values, reverse=reverse, unroll=unroll)

    closed, eqn = equation({"scan"}, function, *inputs)
    known = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *inputs], strict=True))
    for before in closed.jaxpr.eqns:
        if before is eqn:
            break
        read = [atom.val if jax_internals.is_literal(atom) else known[atom] for atom in before.invars]
        known.update(zip(before.outvars, jax_internals.bind(before, read), strict=True))
    values = [atom.val if jax_internals.is_literal(atom) else known[atom] for atom in eqn.invars]

    parts = jax_internals.scan(eqn)

    consts = values[: parts.constants]
    carry = values[parts.constants : parts.constants + parts.carries]
    stacks = values[parts.constants + parts.carries :]
    slices = []
    order = range(parts.length)
    for index in reversed(order) if parts.reverse else order:
        outputs = evaluate(parts.body, [*consts, *carry, *(stack[index] for stack in stacks)])
        carry = outputs[: parts.carries]
        slices.append(outputs[parts.carries :])
    ordered = slices[::-1] if parts.reverse else slices
    (total, count), (sums, counts) = function(*inputs)
    assert (parts.length, parts.reverse, parts.unroll) == (4, reverse, unroll)
    # The step-by-step program is compiled apart from the loop: it may add in another order.
    np.testing.assert_allclose(carry[0], total, rtol=8 * 2.0**-23)
    np.testing.assert_allclose([row[0] for row in ordered], sums, rtol=8 * 2.0**-23)
    same([carry[1], np.asarray([row[1] for row in ordered])], [count, counts])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        # Constants, carries and stacks of the scan, counted by hand.
        (lambda x: jax.lax.scan(lambda c, row: (c + row, None), x, jnp.ones((4, 3))), (0, 1, 1)),
        (lambda x: jax.lax.scan(lambda c, _: (c * x, c), x, None, length=5), (1, 1, 0)),
        (lambda x: jax.lax.scan(lambda c, row: (c, row * x.sum()), (), jnp.ones((4, 3))), (1, 0, 1)),
        (lambda x: jax.lax.map(lambda row: row * 2, jnp.outer(x, x)), (0, 0, 1)),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * i, x), (0, 2, 0)),
        (jax.vmap(lambda x: jax.lax.scan(lambda c, _: (c * x, c), x, None, length=5)), (1, 1, 0)),
        (
            jax.grad(lambda x: jax.lax.scan(lambda c, row: (c * row, None), x, jnp.ones((4, 3)))[0].sum()),
            None,
        ),
    ],
    ids=["inputs", "closed over", "no carry", "map", "counted", "vmapped", "gradient"],
)
def test_every_input_of_a_scan_is_a_constant_a_carry_or_a_stack(function, expected):
    closed = jax.make_jaxpr(function)(jnp.ones(3))
    scans = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name == "scan"]

    parts = [jax_internals.scan(eqn) for eqn in scans]

    assert parts
    for eqn, each in zip(scans, parts, strict=True):
        stacks = eqn.invars[each.constants + each.carries :]
        assert all(variable.aval.shape[0] == each.length for variable in stacks)
        carried = zip(eqn.invars[each.constants : each.constants + each.carries], eqn.outvars, strict=False)
        assert all(before.aval.shape == after.aval.shape for before, after in carried)
        assert len(each.body.jaxpr.invars) == len(eqn.invars)
        if expected is not None:
            assert (each.constants, each.carries, len(stacks)) == expected


def looped(start, limit, factor):
    return jax.lax.while_loop(lambda c: c[1] < limit, lambda c: (c[0] * factor, c[1] + 1), (start, 0))


def test_a_while_run_from_its_parts_is_the_while():
    inputs = (jnp.ones(3), jnp.int32(5), jnp.float32(2))
    _, eqn = equation({"while"}, looped, *inputs)

    parts = jax_internals.while_loop(eqn)

    assert (parts.condition_constants, parts.body_constants) == (1, 1)
    carry = [inputs[0], jnp.int32(0)]
    while evaluate(parts.condition, [inputs[1], *carry])[0]:
        carry = evaluate(parts.body, [inputs[2], *carry])
    same(carry, looped(*inputs))


def test_a_while_bound_with_its_own_parts_is_the_while():
    inputs = (jnp.ones(3), jnp.int32(5), jnp.float32(2))
    _, eqn = equation({"while"}, looped, *inputs)
    values = [inputs[1], inputs[2], inputs[0], jnp.int32(0)]

    bound = jax_internals.bind_while(eqn, jax_internals.while_loop(eqn), values)

    same(bound, looped(*inputs))


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_branches_of_a_choice_stand_in_its_order(index):
    choices = [lambda a: a + 1, lambda a: a * 5, lambda a: a - jnp.asarray(TABLE)]
    _, eqn = equation({"cond"}, lambda i, a: jax.lax.switch(i, choices, a), jnp.int32(0), jnp.ones(3))

    branch = jax_internals.branches(eqn)[index]

    # Arrays that one branch closes over are inputs of all of them.
    given = [jnp.asarray(TABLE), jnp.ones(3)][-(len(eqn.invars) - 1) :]
    same(evaluate(branch, given), [choices[index](jnp.ones(3))])


def custom_jvp():
    function = jax.custom_jvp(lambda a: a * jnp.asarray(TABLE))
    function.defjvp(lambda primals, tangents: (function(*primals), tangents[0] * 100))
    return function


def custom_vjp():
    function = jax.custom_vjp(lambda a: a * jnp.asarray(TABLE))
    function.defvjp(lambda a: (function(a), a), lambda _, g: (g * 100,))
    return function


def sharded(a):
    mesh = Mesh(np.asarray(jax.devices()[:1]), ("x",))
    spec = PartitionSpec("x")
    if hasattr(jax, "shard_map"):
        mapped = jax.shard_map(lambda part: part * 3, mesh=mesh, in_specs=spec, out_specs=spec)
    else:
        from jax.experimental.shard_map import shard_map

        mapped = shard_map(lambda part: part * 3, mesh=mesh, in_specs=spec, out_specs=spec)
    return mapped(a)


CALLS = {
    "jit": jax.jit(lambda a: a * jnp.asarray(TABLE)),
    "checkpoint": jax.checkpoint(lambda a: a * 2),
    "custom_jvp": custom_jvp(),
    "custom_vjp": custom_vjp(),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_calls_gives_its_result(name):
    """With the constants that stand in the program."""
    closed = jax.make_jaxpr(CALLS[name])(jnp.ones(3))
    (eqn,) = closed.jaxpr.eqns

    inner, consts = jax_internals.called(eqn)

    assert len(inner.constvars) == len(consts)
    same(jax.core.eval_jaxpr(inner, consts, *inputs_of(closed, eqn)), [CALLS[name](jnp.ones(3))])


def inputs_of(closed, eqn):
    known = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    known.update(zip(closed.jaxpr.invars, [jnp.ones(3)], strict=True))
    return [known[variable] for variable in eqn.invars]


def test_a_sharded_call_takes_and_gives_a_part_of_each_array():
    """On one device the part is the whole; it runs only where the device's axis has a name."""
    (eqn,) = jax.make_jaxpr(sharded)(jnp.ones(3)).jaxpr.eqns

    inner, _ = jax_internals.called(eqn)

    assert eqn.primitive.name in jax_internals.PER_DEVICE
    assert [variable.aval.shape for variable in inner.invars] == [(3,)]
    assert [variable.aval.shape for variable in inner.outvars] == [(3,)]
    assert "mul" in [each.primitive.name for each in inner.eqns]


@pytest.mark.parametrize("name", CALLS)
def test_a_bound_equation_gives_its_result(name):
    closed = jax.make_jaxpr(CALLS[name])(jnp.ones(3))
    (eqn,) = closed.jaxpr.eqns

    same(jax_internals.bind(eqn, inputs_of(closed, eqn)), [CALLS[name](jnp.ones(3))])


def test_a_custom_derivative_stays_in_a_bound_equation():
    """What is bound again can still be differentiated as its author wrote."""
    closed = jax.make_jaxpr(CALLS["custom_vjp"])(jnp.ones(3))
    (eqn,) = closed.jaxpr.eqns
    (table,) = closed.consts or (None,)

    def again(a):
        values = [a] if len(eqn.invars) == 1 else [table, a]
        return jax_internals.bind(eqn, values)[0].sum()

    np.testing.assert_array_equal(jax.grad(again)(jnp.ones(3)), np.full(3, 100.0))


def test_what_calls_nothing_is_no_call():
    (eqn,) = jax.make_jaxpr(jnp.sin)(1.0).jaxpr.eqns

    assert jax_internals.called(eqn) is None
    assert list(jax_internals.inner_jaxprs(eqn)) == []
    assert jax_internals.donated(eqn) is None


def test_the_solver_of_a_linear_solve_runs_from_its_part():
    matrix = np.diag(TABLE + 1)

    def solve(matrix, b):
        return jax.lax.custom_linear_solve(
            lambda x: matrix @ x, b, lambda _, right: right / jnp.diagonal(matrix)
        )

    closed = jax.make_jaxpr(solve)(matrix, jnp.ones(3))
    (eqn,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name == "custom_linear_solve"]

    parts = jax_internals.linear_solve(eqn)

    shapes = [variable.aval.shape for variable in eqn.invars]
    assert shapes[parts.right_sides] == [(3,)]
    values = [jnp.asarray(matrix) if shape == (3, 3) else jnp.ones(shape) for shape in shapes]
    constants = values[parts.constants]
    same(evaluate(parts.solve, [*constants, jnp.ones(3)]), [solve(matrix, jnp.ones(3))])


def test_what_a_jitted_call_may_overwrite():
    donating = jax.jit(lambda a, b: a + b, donate_argnums=1)
    (eqn,) = jax.make_jaxpr(donating)(1.0, 2.0).jaxpr.eqns

    assert jax_internals.donated(eqn) == (False, True)


def test_the_innermost_frame_is_the_line_that_multiplies():
    def multiply(a):
        return jnp.sin(a)

    (eqn,) = jax.make_jaxpr(multiply)(1.0).jaxpr.eqns

    lines = [frame.line_num for frame in jax_internals.frames(eqn) if frame.file_name == __file__]

    assert lines[0] == multiply.__code__.co_firstlineno + 1


def test_only_a_gradient_has_a_backward_pass():
    """It is what a gradient adds to the same function's forward derivative."""

    def loss(w):
        return jnp.sin(w).sum()

    def backward(function):
        return [
            each
            for each in jax.make_jaxpr(function)(jnp.ones(3)).jaxpr.eqns
            if jax_internals.is_backward(each)
        ]

    assert backward(loss) == []
    assert backward(lambda w: jax.jvp(loss, (w,), (w,))) == []
    assert "mul" in [each.primitive.name for each in backward(jax.grad(loss))]


def test_the_file_of_a_jitted_function_is_known():
    (eqn,) = jax.make_jaxpr(jax.jit(lambda a: a + 1))(1.0).jaxpr.eqns
    inner, _ = jax_internals.called(eqn)

    assert jax_internals.source_file(inner) == __file__


UNDOCUMENTED = (
    "num_consts", "_nconsts", "ft_in", "call_jaxpr", "get_bind_params", "source_info", "debug_info",
    "donated_invars", "jax._src", "core.Literal", "core.ClosedJaxpr",
)  # fmt: skip


@pytest.mark.parametrize("name", UNDOCUMENTED)
def test_no_other_module_knows_what_jax_does_not_document(name):
    """So the next change in JAX breaks one file. Names in a pickle are data that a user's file holds."""
    home = Path(jax_internals.__file__)
    others = [
        file
        for file in home.parents[1].rglob("*.py")
        if file != home and "storage" not in file.parts and name in file.read_text()
    ]

    assert others == []


def test_a_layout_that_is_not_known_is_said():
    """A parameter that a future JAX renames is an error with both versions, never a KeyError."""
    _, eqn = equation({"scan"}, scanned, jnp.ones(3), jnp.int32(0), ROWS, jnp.float32(1))
    renamed = eqn.replace(params={"program": eqn.params["jaxpr"]})

    with pytest.raises(UnsupportedJaxError) as caught:
        jax_internals.scan(renamed)

    assert f"jax {jax.__version__} lays its programs out" in str(caught.value)
    assert "scan" in str(caught.value)
    assert "the newest that was tried" in caught.value.hint


def test_scopes_are_told_without_transforms():
    """Under vmap as without it."""

    def scoped(x):
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return x * 2

    for function in (scoped, jax.vmap(scoped)):
        (eqn,) = jax.make_jaxpr(function)(jnp.ones(3)).eqns
        assert jax_internals.scopes(eqn) == ("outer", "inner")
    (bare,) = jax.make_jaxpr(lambda x: x * 2)(jnp.ones(3)).eqns
    assert jax_internals.scopes(bare) == ()
