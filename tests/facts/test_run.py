"""When, where and how a report was made: said in JSON and on the page, and kept when it is read back."""

import io
import json
from dataclasses import replace

from jaxdoctor.facts.run import Run
from jaxdoctor.reports.formats.html import FORMAT as HTML
from jaxdoctor.reports.json_reader import received
from jaxdoctor.reports.json_writer import written
from tests.sample_reports import GOLDEN

RUN = Run(
    began="2026-03-01T12:30:05Z",
    seconds=12.25,
    host="node7",
    command="jaxdoctor preflight --level 1",
    versions={"jaxdoctor": "0.1.0", "python": "3.12.4"},
)


def test_it_survives_the_file():
    report = replace(GOLDEN, run=RUN)

    assert received(json.loads(json.dumps(written(report)))).run == RUN


def test_the_page_says_it():
    out = io.StringIO()

    HTML.write(replace(GOLDEN, run=RUN), out)

    page = out.getvalue()
    for words in (
        "2026-03-01 12:30 UTC",
        "on node7, in 12.2 s",
        "python 3.12.4",
        "jaxdoctor preflight --level 1",
    ):
        assert words in page
