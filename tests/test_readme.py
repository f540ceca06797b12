"""The README keeps its promises."""

import pytest

from tests.transcripts import ROOT, run


@pytest.mark.slow
def test_every_command_prints_what_stands_below_it(tmp_path):
    run("README.md", tmp_path)


def test_the_set_up_commands_are_there_and_ci_runs_the_second():
    """A missing install step shows in a fresh environment, and `.ci/run` makes one."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tests = "pip install -e '.[dev]' && pytest"

    assert "$ pip install '.[probe]' && jaxdoctor probe\n" in readme
    assert f"$ {tests}\n" in readme
    assert f"\n{tests}\n" in (ROOT / ".ci" / "run").read_text()
