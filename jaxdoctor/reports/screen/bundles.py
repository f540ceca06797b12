"""Replayed bundles on the screen."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.reports.bundle_words import HEADINGS, elsewhere, recorded, row
from jaxdoctor.reports.screen.lines import labelled, say, table


def draw(report: Report, console: Console) -> None:
    """What was recorded, what each replay did, and what is different here."""
    for bundle in report.bundles:
        say(console, (bundle.bundle, "bold"))
        labelled(console, "recorded", recorded(bundle))
        if elsewhere(bundle):
            labelled(console, "different", elsewhere(bundle))
        if bundle.viewer is not None:
            labelled(console, "viewer", bundle.viewer)
        rows = []
        for run in bundle.runs:
            how, first, means, left, difference = map(clean, row(bundle, run))
            style = "red" if run.failed else "green"
            rows.append((Text(how, "bold"), first, Text(means, style), left, difference))
        if rows:
            table(console, HEADINGS, rows, numbers="lllrr")
        console.print()
