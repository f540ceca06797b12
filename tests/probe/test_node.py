"""A node's report: its exit code, every format, and a user's settings, which say nothing about it."""

import os
from dataclasses import replace

import pytest

from jaxdoctor.facts.delivery import Deliveries
from jaxdoctor.facts.environment import Accelerator, Software
from jaxdoctor.facts.finding import Severity
from jaxdoctor.machine.judged import Machine
from jaxdoctor.machine.node import Expectation
from jaxdoctor.probe import node
from jaxdoctor.reports.wording import summary
from tests.environments import environment


def machine(**accelerator):
    named = {"name": "NVIDIA H100 80GB HBM3", "platform": "gpu", "card": "h100", "count": 8}
    chip = Accelerator(**{**named, **accelerator})
    return Machine(
        environment=replace(environment("h100"), accelerator=chip),
        software=Software(versions={}),
        deliveries=Deliveries(machine="x", products=()),
    )


@pytest.mark.parametrize(
    ("accelerator", "code", "line"),
    [
        ({}, 0, "0 of 2 tests failed"),
        ({"count": 7}, 1, "1 of 2 tests failed"),
        ({"platform": "cpu", "name": "cpu", "card": None, "count": 1}, 1, "2 of 2 tests failed"),
        ({"platform": "unknown", "name": "unknown"}, 3, "0 of 2 tests failed, 2 not examined"),
    ],
)
def test_a_failed_test_is_exit_1_whatever_fails_on_findings(monkeypatch, accelerator, code, line):
    monkeypatch.setattr(node, "examine_machine", lambda **_: machine(**accelerator))

    report = node.check_node(Expectation(count=8))

    assert report.exit_code(None) == report.exit_code(Severity.NOTE) == code
    assert summary(report) == line


def test_a_test_that_could_not_be_judged_is_exit_3(monkeypatch):
    monkeypatch.setattr(node, "examine_machine", lambda **_: machine())

    report = node.check_node(Expectation(card="h100", count=8))

    assert [test.word for test in report.tests] == ["PASS", "PASS", "PASS", "UNKNOWN"]
    assert report.exit_code(Severity.ERROR) == 3


def test_what_a_user_has_set_is_not_seen_and_comes_back(monkeypatch):
    """A flag that ends JAX, a hidden card or a chosen platform would fail a healthy node."""
    users = {
        "XLA_FLAGS": "--xla_foo=1",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_ENABLE_X64": "x",
    }
    for name, value in users.items():
        monkeypatch.setenv(name, value)
    seen = {}

    def examine(**_):
        seen.update(os.environ)
        return machine()

    monkeypatch.setattr(node, "examine_machine", examine)

    report = node.check_node(Expectation(count=8))

    assert not set(users) & set(seen)
    assert all(os.environ[name] == value for name, value in users.items())
    assert report.findings == ()
