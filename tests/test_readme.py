"""The README keeps its promises."""

import pytest

from tests.transcripts import ROOT, run, shows

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_command_prints_what_stands_below_it(tmp_path):
    run("README.md", tmp_path)


def test_the_set_up_commands_are_there_and_ci_runs_the_second():
    """A missing install step shows in a fresh environment, and `.ci/run` makes one."""
    assert "$ pip install . && jaxdoctor probe\n" in README
    tests = "pip install -e '.[dev]' && pytest"
    assert f"$ {tests}\n" in README
    assert f"\n{tests}\n" in (ROOT / ".ci" / "run").read_text()


def test_links_lead_to_files():
    import re

    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link


def test_a_wrong_line_would_be_seen():
    assert shows("a\n...\nb\n", "a\nx\ny\nb\n")
    assert not shows("a\n", "a\nb\n")
    assert not shows("a\n...\nc\n", "a\nb\n")
