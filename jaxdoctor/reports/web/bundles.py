"""Replayed bundles on the page."""

from __future__ import annotations

from jaxdoctor.facts.bundle_replay import BundleReplay
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.bundle_words import HEADINGS, elsewhere, recorded, row
from jaxdoctor.reports.web.markup import Cell, Markup, joined, path, table, tag


def bundles(report: Report) -> Markup:
    """Every bundle with its replays."""
    return joined([_bundle(each) for each in report.bundles])


def _bundle(bundle: BundleReplay) -> Markup:
    rows: list[tuple[Cell, ...]] = []
    for run in bundle.runs:
        how, first, means, left, difference = row(bundle, run)
        tone = "bad" if run.failed else "good"
        rows.append((tag("code", how), first, tag("span", means, class_=f"pill {tone}"), left, difference))
    said = [tag("p", recorded(bundle), ".")]
    if elsewhere(bundle):
        said.append(tag("p", "Different here: ", elsewhere(bundle), "."))
    if bundle.viewer is not None:
        said.append(tag("p", "MuJoCo's viewer opens what stands in ", path(bundle.viewer), "."))
    replays = table(HEADINGS, rows, numbers="lllrr", name=f"Replays of {bundle.bundle}")
    return tag("article", tag("h3", path(bundle.bundle)), *said, replays)
