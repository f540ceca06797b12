"""The sweep over optax."""

import runpy
from importlib.metadata import version

import optax
import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.facts.signature import Fate
from jaxdoctor.updates.check import Wish, check_update
from jaxdoctor.updates.trace import sweep
from jaxdoctor.workers.progress import SILENT
from tests.paths import ROOT


def test_every_exported_transform_is_found():
    """By its annotation, or by a recipe; losses and schedules are none."""
    found = dict(sweep.transforms())

    assert len(found) > 100
    assert {"optax.adam", "optax.MultiSteps", "optax.chain", "optax.contrib.muon"} <= set(found)
    assert not {"optax.l2_loss", "optax.linear_schedule", "optax.apply_updates"} & set(found)


def test_a_transform_that_cannot_be_built_is_listed_with_its_reason(monkeypatch):
    def odd(flux: float) -> optax.GradientTransformation:
        raise AssertionError

    def broken(learning_rate: float) -> optax.GradientTransformation:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(sweep, "transforms", lambda: iter([("optax.odd", odd), ("optax.broken", broken)]))

    first, second = sweep.sweep(["float32"], progress=SILENT)

    assert first.refused == "odd needs flux, which cannot be guessed"
    assert second.refused == "broken raises ZeroDivisionError: by zero"
    assert (first.verdict, first.leaves) == ("refuses", ())


@pytest.mark.filterwarnings('ignore:"seed" is deprecated:DeprecationWarning')
def test_what_a_transform_needs_beside_gradients_is_handed_in(monkeypatch):
    """A value of the loss, the loss itself, two sets of parameters, or a gradient for each example."""
    wanted = [
        "optax.adam",
        "optax.polyak_sgd",
        "optax.lbfgs",
        "optax.lookahead",
        "optax.contrib.dpsgd",
        "optax.contrib.sophia",
    ]
    found = dict(sweep.transforms())
    monkeypatch.setattr(sweep, "transforms", lambda: iter([(name, found[name]) for name in wanted]))

    signatures = sweep.sweep(["float32"], progress=SILENT)

    assert {each.target: each.refused for each in signatures} == dict.fromkeys(wanted)
    assert all(each.rounds is not None and each.compilations == 0 for each in signatures)
    assert Fate.SATURATES in {counter.fate for counter in signatures[0].counters}


def test_the_sweep_has_parameters_of_its_own():
    with pytest.raises(UsageError, match="parameters of its own"):
        check_update(Wish(target="optax", params="w=float32[3]"))


@pytest.mark.slow
def test_the_committed_table_is_what_is_measured():
    """780 traces without a compile. Another optax than the page's has another page."""
    writer = runpy.run_path(str(ROOT / "benchmarks" / "optax_compatibility.py"))
    report = check_update(Wish(target="optax", x64=(False, True), time_limit=500))

    committed = (ROOT / "docs" / "optax-compatibility.md").read_text()
    same = f"optax {version('optax')}, jax {version('jax')}," in committed
    assert sum(each.compilations for each in report.signatures) == 0
    assert report.examined > 600
    assert (
        not same
        or committed.split("## Not stable")[1] == writer["page"](report.signatures).split("## Not stable")[1]
    )
