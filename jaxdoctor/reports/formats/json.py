"""For programs: the schema `jaxdoctor.report/1`, which ships as `jaxdoctor/schema/report-1.json`."""

from __future__ import annotations

import json
from typing import TextIO

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.json_writer import written


def _write(report: Report, out: TextIO) -> None:
    # ASCII only: no terminal obeys it and no encoding refuses it, whatever a leaf is called.
    json.dump(written(report), out, indent=2, ensure_ascii=True, allow_nan=False)
    out.write("\n")


FORMAT = Format(write=_write, suffixes=(".json",))
