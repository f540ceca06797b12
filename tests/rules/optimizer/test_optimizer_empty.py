"""Optimizers of torch whose state was not saved."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.optimizer.optimizer_empty import optimizer_empty
from tests.builders import checkpoint, judged, leaf

ADAM = {"lr": 1e-3, "betas/0": 0.9, "betas/1": 0.999, "eps": 1e-8}


def saved(held, *, of=3, settings=ADAM, step=700, above="optim/", join="/"):
    """A state dict with that many parameters in its group, and state for so many of them."""
    group = [
        leaf(f"{above}param_groups/0/{name}", "float64", value=value) for name, value in settings.items()
    ]
    group += [leaf(f"{above}param_groups/0/params/{index}", "int64", value=index) for index in range(of)]
    state = [
        leaf(f"{above}state/{index}/{name}", shape=(4,), role="optimizer")
        for index in range(held)
        for name in ("exp_avg", "exp_avg_sq")
    ]
    step_leaf = leaf("global_step", "int64", role="counter", value=step, host_scalar=True)
    made = [*group, *state, step_leaf]
    return checkpoint(
        *(
            leaf(one.path.replace("/", join), one.dtype, one.shape, role=one.role, value=one.value)
            for one in made
        ),
        layout="torch",
    )


@pytest.mark.parametrize(("above", "join"), [("optim/", "/"), ("", "/"), ("optim/", ".")])
def test_no_state_at_all_is_a_warning(above, join):
    """Also at the root of a file of its own, and with the dots of torch's distributed checkpoints."""
    (finding,) = judged(optimizer_empty, saved(0, above=above, join=join))

    assert finding.severity is Severity.WARNING
    assert finding.message == "at step 700 none of the optimizer's 3 parameters has state"


def test_state_for_some_is_a_note():
    (finding,) = judged(optimizer_empty, saved(1))

    assert finding.severity is Severity.NOTE
    assert finding.message == "at step 700 2 of the optimizer's 3 parameters have no state"


@pytest.mark.parametrize(
    "healthy",
    [
        saved(3),
        saved(0, step=0),
        saved(0, settings={"lr": 0.1, "momentum": 0.0, "nesterov": False}),
        saved(1, settings={"lr": 1.0, "history_size": 100, "eps": 1e-9}),
    ],
    ids=["complete", "not begun", "plain SGD", "L-BFGS"],
)
def test_neighbours_are_healthy(healthy):
    assert not judged(optimizer_empty, healthy)


def test_momentum_keeps_state():
    assert judged(optimizer_empty, saved(0, settings={"lr": 0.1, "momentum": 0.9}))
