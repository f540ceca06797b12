"""JD510: donation."""

import pytest

from jaxdoctor.rules.update.large_state_not_donated import large_state_not_donated
from tests.signatures import hits, signature


def test_a_large_state_that_a_jitted_update_keeps_is_told():
    (finding,) = hits(large_state_not_donated, signature(donated=False, state_bytes=12 * 2**30))

    assert finding.message == "the state of 12.0 GiB is held twice while the update runs"


@pytest.mark.parametrize(
    ("names", "fix"),
    [
        (("state",), 'jax.jit(update, donate_argnames="state")'),
        (("params", "opt_state"), 'jax.jit(update, donate_argnames=("params", "opt_state"))'),
        ((), "donate the state's buffers where the update is jitted"),
    ],
)
def test_the_cure_names_every_argument_that_holds_the_state(names, fix):
    fact = signature(donated=False, state_bytes=2**30, donatable=names)

    (finding,) = hits(large_state_not_donated, fact)

    assert finding.fix == fix


@pytest.mark.parametrize(("donated", "size"), [(True, 2**40), (None, 2**40), (False, 2**20)])
def test_a_donated_an_unjitted_and_a_small_one_are_healthy(donated, size):
    assert not hits(large_state_not_donated, signature(donated=donated, state_bytes=size))
