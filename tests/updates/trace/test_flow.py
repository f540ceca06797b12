"""Arguments that are what an earlier call returned."""

import jax.numpy as jnp

from jaxdoctor.updates.trace.flow import Fed, Flow, arguments_of


def test_an_argument_is_found_by_its_very_arrays():
    flow = Flow()
    params, loss = {"w": jnp.arange(3.0)}, jnp.float32(1)
    flow.returned("step", (loss, params))

    fed = flow.fed("step", arguments_of((params, jnp.arange(3.0)), {"rate": loss}))

    assert fed == {0: Fed((1,)), "rate": Fed((0,))}
    assert flow.fed("other", {0: params}) == {}


def test_an_argument_may_be_put_together_from_what_was_returned():
    flow = Flow()
    first, second = jnp.arange(3.0), jnp.arange(4.0)
    flow.returned("step", {"a": first, "b": second})

    (fed,) = flow.fed("step", {0: (second, first, "name")}).values()

    assert fed.place is None
    assert fed.take({"a": 1, "b": 2}, (0, 0, "name")) == (2, 1, "name")


def test_other_values_speak_against_what_the_structure_says_unless_it_went_on_to_another_call():
    flow = Flow()
    flow.returned("step", ({"w": jnp.arange(8.0)},))
    clipped, others = {"w": jnp.minimum(jnp.arange(8.0), 6)}, {"w": -jnp.ones(8)}

    assert flow.contradicts("step", others, (0,))
    assert not flow.contradicts("step", clipped, (0,))
    assert not flow.contradicts("never", others, (0,))

    returned = {"w": jnp.arange(8.0)}
    flow.returned("step", (returned,))
    flow.given({0: returned})
    assert not flow.contradicts("step", others, (0,))
