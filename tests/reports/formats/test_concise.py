"""One line a finding, and a summary."""

import io

from jaxdoctor.reports.formats.concise import FORMAT
from tests.sample_reports import GOLDEN, HOSTILE


def lines(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return out.getvalue().splitlines()


def test_each_finding_is_one_line_with_its_place_first():
    found = lines(GOLDEN)

    assert (
        found[2]
        == "run/000300 params/actor/kernel: JD301 error nonfinite-values: 2 of 256 values are not finite"
    )
    assert len(found) == len(GOLDEN.findings) + len(GOLDEN.unexamined) + 1
    assert found[-2] == "models/rope.xml: not examined: MJX has no tendon wrapping"
    assert found[-1].endswith("1 not examined, 1 ignored")


def test_a_name_makes_no_line_of_its_own():
    assert len(lines(HOSTILE)) == 1 + len(HOSTILE.unexamined) + 1
