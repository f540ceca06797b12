"""The line of source that a finding points at."""

import os

from jaxdoctor.facts.finding import Location
from jaxdoctor.reports.excerpt import line_of, with_source


def test_the_line_is_read_from_the_file(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("a = 1\n\tb = 2  \n")

    assert with_source(Location(path=str(path), line=2)).source == "    b = 2"


def test_a_location_without_a_line_stays_as_it_is(tmp_path):
    place = Location(path=str(tmp_path))

    assert with_source(place) is place


def test_what_is_no_readable_line_has_no_source(tmp_path):
    """A folder, a pipe, a file that is gone, a line beyond the end, and one that nobody typed."""
    path = tmp_path / "model.xml"
    path.write_text("<mujoco/>\n" + "x" * 500)
    os.mkfifo(tmp_path / "pipe")

    cases = [(tmp_path, 1), (tmp_path / "pipe", 1), (tmp_path / "none", 1), (path, 9), (path, 2)]

    assert [line_of(*case) for case in cases] == [None] * 5
