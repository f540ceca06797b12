"""Versions are ordered as pip orders them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jaxdoctor.facts.versions import newer, parsed, since, within


@pytest.mark.parametrize(
    ("version", "first", "expected"),
    [
        ("0.11.1", "0.11.1", True),
        ("0.11.1rc1", "0.11.1", False),
        ("0.11.2.dev20260101+gabc", "0.11.1", True),
        ("0.11.1.dev20260101", "0.11.1", False),
        ("0.12.0.1", "0.12", True),
        ("0.9.2", "0.10", False),
        ("0.4.36+cuda12.cudnn89", "0.4.36", True),
        ("4", "4.0.0", True),
        ("of a checkout", "0", False),
        (None, "0", False),
    ],
)
def test_since_a_release(version, first, expected):
    assert since(version, first) is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.10", True),
        ("0.10.2", True),
        ("0.10.3rc1", True),
        ("0.10.3", False),
        ("0.9.9", False),
        (None, False),
    ],
)
def test_within_a_range_of_releases(version, expected):
    assert within(version, "0.10", "0.10.3") is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.13.0rc1", True), ("0.12.0.2", True), ("0.12.0.1", False), ("0.12.0.1+local", False), (None, False)],
)
def test_newer_than_what_was_tried(version, expected):
    assert newer(version, "0.12.0.1") is expected


def test_what_is_no_version_has_no_place_in_the_order():
    assert parsed("unknown") is None


def test_the_workers_import_it_without_packaging():
    code = "import sys, jaxdoctor.machine.devices; sys.exit('packaging' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
