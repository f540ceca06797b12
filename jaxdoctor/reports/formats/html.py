"""For a browser: one file that fetches nothing, with sortable tables and charts."""

from __future__ import annotations

from typing import TextIO

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.web.document import document


def _write(report: Report, out: TextIO) -> None:
    out.write(document(report))


FORMAT = Format(write=_write, suffixes=(".html", ".htm"))
