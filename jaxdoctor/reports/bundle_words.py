"""A replayed bundle in words: what was recorded, what happened here, what is different."""

from __future__ import annotations

from jaxdoctor.facts.bundle_replay import BundleReplay, BundleRun
from jaxdoctor.facts.text import counted
from jaxdoctor.reports.wording import DASH

HEADINGS = ("replay", "first failure", "", "leaves at", "difference")


def recorded(bundle: BundleReplay) -> str:
    """What was recorded, and where."""
    return (
        f"{bundle.subject} at {bundle.precision}: {bundle.field} is not finite at step {bundle.step} of "
        f"replay {bundle.replay}; {counted(bundle.steps, 'step')} recorded by {bundle.written_by}"
    )


def row(bundle: BundleReplay, run: BundleRun) -> tuple[str, str, str, str, str]:
    """A replay, its first bad step and field, what that means, and how far it came from the recorded one."""
    if not run.failed:
        first, means = DASH, "stays finite"
    else:
        first = f"step {run.first_bad_step:,} {run.first_bad_field}"
        means = "fails as recorded" if bundle.repeats(run) else "fails, otherwise than recorded"
    left = DASH if run.left_at is None else str(run.left_at)
    return run.how, first, means, left, DASH if run.difference is None else f"{run.difference:.1e}"


def elsewhere(bundle: BundleReplay) -> str:
    """What is different from when it was recorded: "jax 0.10.2 then, 0.12.0 here"; or nothing."""
    return "; ".join(f"{name} {then} then, {here} here" for name, (then, here) in bundle.differences.items())
