"""Which widths are replayed next."""

import pytest

from jaxdoctor.replay.search import between, uneven

WIDTHS = [bits for bits in range(22, 0, -1) if bits not in {10, 7}]


def searched(required, *, named=(23, 10, 7), most=4):
    """What is found of a rollout that is finite from so many bits on, and in how many launches."""
    finite = {bits: bits >= required for bits in named}
    launches = 0
    while wanted := between(finite, WIDTHS, most):
        assert len(wanted) <= most
        assert not set(wanted) & set(finite)
        finite |= {bits: bits >= required for bits in wanted}
        launches += 1
    return finite, launches


@pytest.mark.parametrize("required", range(1, 24))
@pytest.mark.parametrize("most", [1, 3, 4, 8])
def test_the_edge_is_found(required, most):
    """Both sides of it are replayed, whatever the answer, in few launches."""
    finite, launches = searched(required, most=most)

    assert finite.get(required, required == 23)
    assert required == 1 or finite[required - 1] is False
    assert most == 1 or launches <= 4


def test_a_rollout_that_every_width_keeps_finite_costs_one_width():
    assert searched(1) == ({23: True, 10: True, 7: True, 1: True}, 1)


def test_nothing_is_searched_where_float32_itself_is_not_as_finite():
    assert between({23: False, 10: False, 7: False, 1: False}, WIDTHS, 4) == []


def test_a_finite_width_below_a_failing_one_does_not_end_the_search():
    assert between({23: True, 12: False, 10: True, 1: True}, WIDTHS, 4) == [20, 18, 16, 14]


def test_repeated_values_are_counted():
    assert uneven(["a", "b", "a", "a", "b"]) == [0, 0, 1, 2, 1]
