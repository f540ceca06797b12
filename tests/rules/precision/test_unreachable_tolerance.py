"""JD218: a solver that ends by its iterations, not by its tolerance."""

from jaxdoctor.facts.outcome import RolledInC, SolverEffort
from jaxdoctor.rules.precision.unreachable_tolerance import unreachable_tolerance
from tests.outcomes import outcome


def solved(at_limit, *, limit=50, tolerance=1e-8):
    effort = SolverEffort(
        steps=6400,
        mean=3.1,
        largest=limit if at_limit else 9,
        at_limit=at_limit,
        limit=limit,
        tolerance=tolerance,
    )
    return outcome(in_c=RolledInC(solver=effort))


def test_steps_at_the_limit_are_counted():
    (finding,) = unreachable_tolerance.judge(solved(120))

    assert finding.message == (
        "120 of 6,400 steps take all 50 iterations of the solver without reaching tolerance 1e-08; "
        "a step takes 3.1 on average"
    )
    assert finding.fix == 'tolerance="1e-6"'


def test_a_larger_tolerance_is_not_advised_where_it_is_large():
    (finding,) = unreachable_tolerance.judge(solved(120, tolerance=1e-5))

    assert finding.fix is None


def test_a_fine_tolerance_that_is_reached_few_iterations_and_nothing_to_solve_are_healthy():
    assert not list(unreachable_tolerance.judge(solved(0)))
    assert not list(unreachable_tolerance.judge(solved(6400, limit=4)))
    assert not list(unreachable_tolerance.judge(outcome()))
