"""What is taken for state: what a later call is given of what an earlier one returned."""

import contextlib
import textwrap

import jax
import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.updates.trace.record import Recorder, Stop

BEFORE = """
import jax, jax.numpy as jnp, optax
tx = optax.sgd(0.1, momentum=0.9)
params = {"w": jnp.ones((4, 3))}
other = {"w": jnp.zeros((4, 3))}
opt_state = tx.init(params)
x = jnp.ones((8, 4))

def loss(params, x):
    return jnp.mean((x @ params["w"]) ** 2)

def learnt(params, opt_state, x):
    updates, opt_state = tx.update(jax.grad(loss)(params, x), opt_state, params)
    return optax.apply_updates(params, updates), opt_state
"""


def watched(tmp_path, code):
    path = tmp_path / "train.py"
    path.write_text(BEFORE + textwrap.dedent(code))
    recorder = Recorder()
    with recorder.watching(), contextlib.suppress(Stop):
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    return recorder


@pytest.mark.parametrize(
    ("code", "seen", "data"),
    [
        (
            """
            step = jax.jit(lambda target, params, s, x: learnt(params, s, x))
            for _ in range(9):
                params, opt_state = step(other, params, opt_state, x)
            """,
            ("params", "s"),
            ("target", "x"),
        ),
        (
            """
            step = jax.jit(lambda params, s, x: dict(zip(("p", "s"), learnt(params, s, x))))
            for _ in range(9):
                out = step(params, opt_state, x)
                params, opt_state = out["p"], out["s"]
            """,
            ("params", "s"),
            ("x",),
        ),
        (
            """
            step = jax.jit(lambda state, x: learnt(*state, x))
            for _ in range(9):
                params, opt_state = step((params, opt_state), x)
            """,
            ("state",),
            ("x",),
        ),
        (
            """
            update = jax.jit(lambda updates, s, params: tx.update(updates, s, params))
            for _ in range(9):
                updates, opt_state = update(jax.grad(loss)(params, x), opt_state, params)
                params = optax.apply_updates(params, updates)
            """,
            ("s",),
            ("updates", "params"),
        ),
        (
            """
            step = jax.jit(lambda w, b, x: (w - jnp.mean(x * w), b - jnp.mean(x)))
            w, b = jnp.float32(1), jnp.float32(0)
            for _ in range(9):
                w, b = step(w, b, x)
            """,
            ("w", "b"),
            ("x",),
        ),
        (
            """
            step = jax.jit(learnt).lower(params, opt_state, x).compile()
            for _ in range(9):
                params, opt_state = step(params, opt_state, x)
            """,
            ("params", "opt_state"),
            ("x",),
        ),
    ],
)
def test_what_comes_back_is_state_whatever_its_structure(tmp_path, code, seen, data):
    best = watched(tmp_path, code).best

    assert (best.signature.state_parts, best.signature.state_seen, best.signature.data) == (seen, seen, data)
    assert best.signature.verdict == "stable"


def test_a_state_that_is_changed_on_the_host_is_still_state(tmp_path):
    """Clipped as by a Wasserstein critic: no array is the same, most of the numbers are."""
    best = watched(
        tmp_path,
        """
        step = jax.jit(learnt)
        for _ in range(9):
            params, opt_state = step(params, opt_state, x)
            params = jax.tree.map(lambda leaf: jnp.clip(leaf, -5, 5), params)
        """,
    ).best

    assert best.signature.state_parts == ("params", "opt_state")
    assert best.signature.state_seen == ("opt_state",)


def test_the_first_call_may_be_for_warming_up(tmp_path):
    best = watched(
        tmp_path,
        """
        step = jax.jit(lambda target, params, s, x: learnt(params, s, x))
        step(other, params, opt_state, x)
        for _ in range(9):
            params, opt_state = step(other, params, opt_state, x)
        """,
    ).best

    assert (best.calls, best.signature.state_seen) == (3, ("params", "s"))


def test_nothing_that_the_calls_returned_is_kept_alive():
    recorder = Recorder()
    with recorder.watching():
        step = jax.jit(
            lambda state: {"n": state["n"] + 1, "w": state["w"] * optax.safe_increment(state["n"])}
        )
        before = len(jax.live_arrays())
        state = {"n": jnp.int32(0), "w": jnp.ones(300)}
        for _ in range(5):
            state = step(state)

    assert len(jax.live_arrays()) - before <= len(jax.tree.leaves(state)) + 2


def test_every_step_that_learns_is_judged_and_no_other(tmp_path):
    """As of an actor and a critic; a loss that is jitted beside them is no step."""
    recorder = watched(
        tmp_path,
        """
        actor, critic, smooth = jax.jit(learnt), jax.jit(lambda *args: learnt(*args)), jax.jit(lambda p, q: p)
        for _ in range(9):
            other = smooth(other, params)
            actor(params, opt_state, x)
            params, opt_state = critic(params, opt_state, x)
        """,
    )

    assert sorted(each.name for each in recorder.steps) == ["<lambda>", "learnt"]
