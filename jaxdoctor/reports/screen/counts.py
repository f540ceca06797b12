"""What a report holds besides the answer, in a line or two, for those who did not ask for the tables."""

from __future__ import annotations

from rich.console import Console

from jaxdoctor.facts.histories import histories
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted, cut_left
from jaxdoctor.reports.screen.lines import say
from jaxdoctor.reports.screen.runs import MANY, Run, healthy, reach, runs_of
from jaxdoctor.reports.wording import percent

LONGEST_NAME = 48


def draw(report: Report, console: Console) -> None:
    """The runs with their nearest counters, or how many are healthy; then what the tables would show."""
    runs = runs_of(report)
    if runs:
        console.print()
    if len(runs) >= MANY:
        healthy(runs, console)
    else:
        for run in runs:
            say(console, (cut_left(run.path, LONGEST_NAME), "bold"), f": {_told(run)}")
    hidden = [told for told in (_machine(report), _precisions(report), _leaves(report)) if told]
    if runs:
        hidden.append("every counter" if len(runs) < MANY else "every run")
    if hidden:
        say(console, f"--verbose also shows {', '.join(hidden)}")


def _told(run: Run) -> str:
    """As in "3 checkpoints, steps 100 to 300; counter env_steps at 24.1 % of its limit"."""
    if run.series is None:
        saved = run.checkpoints[0]
        step = "" if saved.step is None else f", step {saved.step:,}"
        return f"{saved.format}{step}, {counted(len(saved.leaves), 'leaf', 'leaves')}"
    return f"{counted(len(run.checkpoints), 'checkpoint')}{reach(run.series)}{_counter(run.series)}"


def _counter(series: Series) -> str:
    """The counter that is nearest to its limit."""
    found = max(histories(series), key=lambda history: history.share, default=None)
    if found is None:
        return ""
    return f"; counter {cut_left(found.leaf, LONGEST_NAME)} at {percent(found.share)} of its limit"


def _machine(report: Report) -> str:
    return "" if report.environment is None else "the machine"


def _precisions(report: Report) -> str:
    number = sum(len(outcome.trials) for outcome in report.outcomes)
    return counted(number, "precision") if number else ""


def _leaves(report: Report) -> str:
    number = sum(len(signature.leaves) for signature in report.signatures)
    return f"the updates' {counted(number, 'leaf', 'leaves')}" if number else ""
