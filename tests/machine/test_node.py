"""The tests of a node, on recorded level-1 reports of it."""

import json
from dataclasses import replace

import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.delivery import MEASURED
from jaxdoctor.facts.environment import Accelerator, Environment
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import card_named
from jaxdoctor.machine.expected import deliveries_of_card
from jaxdoctor.machine.node import Expectation, node_tests
from jaxdoctor.reports.json_reader import received
from jaxdoctor.reports.json_writer import written

EXPECTED = Expectation(card="h100", count=8)


def recorded(card="h100", count=8, *, bits=None, platform="gpu", idle=()):
    """What `probe --level 1 --format json` of such a node holds, as it is read back."""
    names = {"h100": "NVIDIA H100 80GB HBM3", "a100": "NVIDIA A100-SXM4-80GB"}
    name = names[card] if platform == "gpu" else platform
    environment = Environment(
        accelerator=Accelerator(
            name=name, platform=platform, card=card if platform == "gpu" else None, count=count
        ),
        idle_gpus=tuple(names[card] for _ in range(idle)) if idle else (),
        cpu_cores=96,
        platform="Linux-x86_64",
        versions={"jaxlib": "0.10.2"},
    )
    products = deliveries_of_card(card_named(card), "0.10.2").products if platform == "gpu" else ()
    products = tuple(replace(one, source=MEASURED) for one in products)
    if bits is not None:
        products = (
            *(replace(one, **bits) if one.setting == "highest" else one for one in products[:-1]),
            products[-1],
        )
    report = Report(
        command="probe", subject="this machine", examined=1, environment=environment, deliveries=products
    )
    return received(json.loads(json.dumps(written(report))))


def results(report, expectation=EXPECTED):
    tests = node_tests(report.environment, report.deliveries, expectation)
    return {test.name: (test.word, test.detail) for test in tests}


def test_a_right_node_passes_every_test():
    found = results(recorded())

    assert {word for word, _ in found.values()} == {"PASS"}
    assert list(found) == ["devices", "card", "count", "products"]


def test_another_card_fails():
    found = results(recorded("a100"))

    assert found["card"] == ("FAIL", "NVIDIA A100-SXM4-80GB; expected h100")
    assert found["count"][0] == "PASS"


@pytest.mark.parametrize(("count", "words"), [(7, "7 cards; expected 8"), (9, "9 cards; expected 8")])
def test_a_missing_card_and_one_too_many_fail(count, words):
    found = results(recorded(count=count))

    assert found["count"] == ("FAIL", words)
    assert found["card"][0] == found["products"][0] == "PASS"


def test_fewer_bits_fail_and_the_worst_product_is_named():
    found = results(recorded(bits={"mantissa_bits": 10}))

    assert found["products"][0] == "FAIL"
    assert "gets 10 mantissa bits at highest, and 23 are expected of h100" in found["products"][1]


def test_more_bits_than_the_table_promises_pass():
    """XLA chooses a kernel for each shape, and a slower one breaks nothing."""
    report = recorded()
    more = tuple(replace(one, mantissa_bits=max(one.mantissa_bits, 23)) for one in report.deliveries)

    assert results(replace(report, deliveries=more))["products"][0] == "PASS"


def test_a_gpu_that_jax_does_not_see_fails():
    found = results(recorded(platform="cpu", count=1, idle=8))

    assert found["devices"] == (
        "FAIL",
        "JAX computes on the CPU; nvidia-smi lists 8 x NVIDIA H100 80GB HBM3",
    )
    assert found["count"] == ("FAIL", "0 cards; expected 8")
    assert found["products"][0] == "UNKNOWN"


def test_only_what_is_expected_is_tested():
    assert list(results(recorded(), Expectation(count=8))) == ["devices", "count"]


def test_a_node_that_gave_no_answer_is_unknown():
    report = recorded(platform="unknown", count=1)

    assert {word for word, _ in results(report).values()} == {"UNKNOWN"}


def test_a_card_that_nobody_knows_is_refused():
    with pytest.raises(UnknownNameError, match="no card named 'h1000'"):
        results(recorded(), Expectation(card="h1000"))
