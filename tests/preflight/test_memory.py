import os

import pytest

from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.memory import Memory
from jaxdoctor.preflight.subjects import Subject


@pytest.fixture
def subject(tmp_path):
    (tmp_path / "runs" / "step_100").mkdir(parents=True)
    (tmp_path / "runs" / "step_100" / "w.npy").write_bytes(b"1")
    return Subject(kind="scan", name="runs", entry={}, inputs=(tmp_path / "runs",), examine=lambda *_: None)


@pytest.fixture
def memory(tmp_path, subject):
    memory = Memory(tmp_path / "kept")
    memory.keep(subject, Report(command="scan-checkpoint", subject="runs", examined=1))
    assert memory.recall(subject) is not None
    return memory


def _an_empty_folder(runs):
    (runs / "step_200").mkdir()


def _a_link_to_nothing(runs):
    (runs / "step_200").symlink_to("nowhere")


def _a_pipe(runs):
    os.mkfifo(runs / "step_200")


@pytest.mark.parametrize("change", [_an_empty_folder, _a_link_to_nothing, _a_pipe])
def test_what_is_no_file_changes_a_folder_too(tmp_path, subject, memory, change):
    change(tmp_path / "runs")

    assert memory.recall(subject) is None


def test_a_folder_that_may_be_listed_and_not_searched_is_a_change(tmp_path, subject, memory, monkeypatch):
    stat = os.stat

    def closed(path, *args, **options):
        if str(path).endswith("w.npy"):
            raise PermissionError(13, "Permission denied")
        return stat(path, *args, **options)

    monkeypatch.setattr(os, "stat", closed)

    assert memory.recall(subject) is None
