"""For pull requests and issues: Markdown as GitHub and GitLab read it."""

from __future__ import annotations

from typing import TextIO

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.markdown import markdown


def _write(report: Report, out: TextIO) -> None:
    out.write(markdown(report))


FORMAT = Format(write=_write, suffixes=(".md", ".markdown"))
