"""The pages of docs/ keep their promises: commands are run, links lead somewhere."""

import re

import numpy as np
import pytest

from tests.transcripts import BLOCK, ROOT, run, shows

PAGES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
TRANSCRIPTS = [page for page in PAGES if BLOCK.search((ROOT / page).read_text(encoding="utf-8"))]
COMPILING = {"docs/environments.md", "docs/check-update.md"}
"""Pages whose commands compile programs."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if page in COMPILING else page for page in TRANSCRIPTS],
)
def test_every_command_prints_what_stands_below_it(page, tmp_path):
    """In a folder with a run of two checkpoints, the second of which holds a NaN."""
    runs = tmp_path / "work" / "runs"
    runs.mkdir(parents=True)
    np.savez(runs / "step_100.npz", w=np.ones(3, "f4"))
    np.savez(runs / "step_200.npz", w=np.array([1, np.nan, 3], "f4"))

    run(page, tmp_path)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")

    missing = [
        link
        for link in re.findall(r"\]\((?![a-z]+:)([^)#]+)", text)
        if not ((ROOT / page).parent / link).exists()
    ]

    assert not missing


def test_there_are_transcripts():
    assert len(TRANSCRIPTS) >= 3


def test_a_wrong_line_would_be_seen():
    assert shows("a\n...\nb\n", "a\nx\ny\nb\n")
    assert not shows("a\n", "a\nb\n")
    assert not shows("a\n...\nc\n", "a\nb\n")
