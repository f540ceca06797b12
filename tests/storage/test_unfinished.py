"""Names of saves that are still being written."""

import re

import pytest

from jaxdoctor.checkpoints.discover import unfinished_names
from jaxdoctor.storage.unfinished import ENDING


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("3000.orbax-checkpoint-tmp", "3000"),
        ("3000.orbax-checkpoint-tmp-17", "3000"),
        ("checkpoint_7.tmp-1700000000", "checkpoint_7"),
        ("model.npz.tmp", "model.npz"),
        ("model.npz.partial", "model.npz"),
        ("model.npz", "model.npz"),
        ("attempt", "attempt"),
    ],
)
def test_the_ending_is_taken_off(name, whole):
    assert ENDING.sub("", name) == whole


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("3000.orbax-checkpoint-tmp", True),
        ("checkpoint_7.tmp-1700000000", True),
        ("checkpoint_tmp", True),
        ("tmp-checkpoint-5", True),
        ("checkpoint-5", False),
        ("tmpfiles", False),
    ],
)
def test_readers_say_what_their_writers_call_it(name, expected):
    assert (re.search(unfinished_names(), name) is not None) is expected
