"""Whole scans of damaged checkpoints: findings, or one clear error, and never the safety net."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.checkpoints.statistics import Depth
from jaxdoctor.errors import NothingExaminedError
from jaxdoctor.reports.format import FORMATS
from tests.checkpoints.readers.fuzz import CALM, damage, damaged
from tests.paths import FIXTURES

WEIGHTS = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)


def npz(folder):
    path = folder / "whole.npz"
    np.savez_compressed(path, w=WEIGHTS, step=np.int32(7), half=WEIGHTS.astype(np.float16))
    return path


def safetensors(folder):
    from safetensors.numpy import save_file

    save_file({"w": WEIGHTS, "n": np.arange(9)}, folder / "whole.safetensors")
    return folder / "whole.safetensors"


def torch(folder):
    return shutil.copy(FIXTURES / "torch" / "zip.pt", folder / "whole.pt")


def brax(folder):
    shutil.unpack_archive(FIXTURES / "brax_0_13_0.zip", folder)
    return folder / "000000001024"


MAKERS = [npz, safetensors, torch, brax]


def answer_about(path):
    """What a user gets to read: the error, or the findings and the whole report."""
    try:
        report = scan([path], Options(depth=Depth.ALL))
    except NothingExaminedError as error:
        return [str(error)]
    FORMATS.load("json").write(report, io.StringIO())
    return [finding.message for finding in report.findings]


def insist_on_an_answer(original, happened):
    """Every value is read and judged, and what a reader cannot read is told in its own words."""
    with damaged(original, happened) as path:
        assert not [words for words in answer_about(path) if "failed with" in words]


@pytest.mark.parametrize("make", MAKERS)
def test_a_damaged_checkpoint_is_answered(tmp_path_factory, make):
    original = Path(make(tmp_path_factory.mktemp("whole")))

    @settings(CALM, max_examples=25)
    @given(damage())
    def answer(happened):
        insist_on_an_answer(original, happened)

    answer()


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_many_damaged_checkpoints_are_answered(tmp_path_factory, make):
    original = Path(make(tmp_path_factory.mktemp("whole")))

    @settings(CALM, max_examples=500)
    @given(damage())
    def answer(happened):
        insist_on_an_answer(original, happened)

    answer()
