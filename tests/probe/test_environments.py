"""Environments and policies from end to end."""

import jax.numpy as jnp
import pytest

from jaxdoctor.facts.closed_loop import Part
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe
from tests.rollouts.policies.brax_saved import saved_by_brax
from tests.steppable import CODE

REASON = "not the precision but the policy: the normaliser is first not finite, at x64 too"


def nan_in_the_normaliser(pair):
    normaliser, policy = pair
    return normaliser.replace(mean=normaliser.mean.at[1].set(jnp.nan)), policy


@pytest.mark.slow
def test_a_normaliser_that_holds_a_nan_is_named(tmp_path):
    (tmp_path / "train.py").write_text(CODE)
    saved = saved_by_brax(tmp_path / "runs", size=2, actions=1, fill=nan_in_the_normaliser)
    ask = Ask(
        model=f"--env {tmp_path}/train.py:point --policy {saved.checkpoint}",
        subject="train.py:point",
        steps=10,
        replays=2,
        batch=2,
    )

    report = probe(ask, card="rtx-4090")

    (outcome,) = report.outcomes
    assert outcome.verdict is Verdict.MODEL
    assert (
        outcome.reason == "not the precision but the policy: the normaliser is first not finite, at x64 too"
    )
    first = {(trial.precision.name, trial.batch): trial.episodes.part for trial in outcome.trials}
    assert set(first.values()) == {Part.NORMALISER}
    assert {("f64", None), ("f32", None), ("tf32", None), ("f32", 1), ("tf32", 1)} <= set(first)
    assert outcome.loop.normalises
    assert {"JD231", "JD232", "JD234"} <= {finding.code for finding in report.findings}
    assert "JD204" not in {finding.code for finding in report.findings}
