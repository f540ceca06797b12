"""The search for the smallest sets of sites, on planted answers."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxdoctor.replay.minimal_sets import minimal_sets


def planted(*sets):
    """An oracle that is content with any superset of one of these."""
    return lambda hypotheses: [any(set(each) <= hypothesis for each in sets) for hypothesis in hypotheses]


def test_independent_sites_are_found_from_one_batch():
    found = minimal_sets(40, planted({7, 23}), [1.0] * 40)

    assert found.sets == (frozenset({7, 23}),)
    assert found.unique
    assert found.asked == 2 * 40 + 3


def test_a_planted_triple_among_forty():
    found = minimal_sets(40, planted({3, 17, 39}), [1.0] * 40)

    assert found.sets == (frozenset({3, 17, 39}),)
    assert found.unique


def test_of_several_sets_the_cheapest_comes_first_and_is_not_called_the_only_one():
    """Either of two sites is enough: the report says so."""
    found = minimal_sets(10, planted({2}, {8}), [float(10 - site) for site in range(10)])

    assert found.sets == (frozenset({8}), frozenset({2}))
    assert not found.unique
    assert found.necessary == frozenset()


def test_pairs_of_which_no_site_is_necessary_are_found_too():
    found = minimal_sets(40, planted({1, 2}, {30, 31}), [1.0] * 40)

    assert found.sets[0] in ({1, 2}, {30, 31})
    assert not found.unique
    assert found.asked < 2 * 40 + 3 + 40 + 30


def test_where_not_even_all_are_enough_nothing_is_named():
    assert minimal_sets(5, planted(), [1.0] * 5).sets == ()


def test_where_nothing_is_needed_the_set_is_empty():
    assert minimal_sets(5, planted(set()), [1.0] * 5).sets == (frozenset(),)


@given(st.integers(1, 12), st.integers(0, 10**6), st.integers(1, 3))
@settings(deadline=None, max_examples=200)
def test_what_is_found_is_enough_and_nothing_in_it_can_be_left_out(sites, seed, many):
    chosen = random.Random(seed)
    sets = [set(chosen.sample(range(sites), chosen.randint(1, min(4, sites)))) for _ in range(many)]
    oracle = planted(*sets)

    found = minimal_sets(sites, oracle, [chosen.random() for _ in range(sites)])

    for each in found.sets:
        assert oracle([each]) == [True]
        assert oracle([each - {site} for site in each]) == [False] * len(each)
        assert found.necessary <= each
    smaller = [one for one in sets if not any(other < one for other in sets)]
    assert found.unique == (len({frozenset(each) for each in smaller}) == 1)


def test_the_number_of_hypotheses_is_bounded():
    """Whatever two of twenty sites are needed together."""
    for pair in itertools.combinations(range(20), 2):
        assert minimal_sets(20, planted(pair), [1.0] * 20).asked == 2 * 20 + 3
