"""Markdown in which no name is more than text."""

import io
import re

from jaxdoctor.reports.formats.markdown import FORMAT
from tests.sample_reports import GOLDEN, HOSTILE, HUGE


def markdown(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return out.getvalue()


def test_every_row_of_a_table_has_the_cells_of_its_head():
    """A pipe in a name would add a cell."""
    blocks = re.findall(r"(?:^\|.*\n)+", markdown(HOSTILE), flags=re.MULTILINE)

    assert blocks
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}) == 1


def test_no_tag_and_no_mention_comes_through():
    """In code type neither has an effect, so only the rest is looked at."""
    text = re.sub(r"(?<!\\)`[^`\n]*`", "", markdown(HOSTILE).partition("```python")[0])

    assert "everyone" in text
    assert not re.search(r"(?<!\\)<script", text)
    assert "@everyone" not in text


def test_findings_link_to_their_pages():
    assert "[JD101 tf32-by-default](https://github.com/jaxdoctor/" in markdown(GOLDEN)


def test_the_snippet_stands_in_a_block_that_closes():
    assert markdown(GOLDEN).rstrip().endswith("```")
    assert markdown(HOSTILE).count("```") == 2


def test_of_very_many_findings_the_rest_is_counted():
    assert "and 9,500 more." in markdown(HUGE)
