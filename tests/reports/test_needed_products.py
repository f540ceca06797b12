"""Which products need the bits, in sentences and in JSON."""

import json
from dataclasses import replace

import pytest

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.json_reader import received
from jaxdoctor.reports.json_writer import written
from jaxdoctor.reports.needed_products import sentences
from tests.attributions import CONVEX, MAKE_M, around, attribution, need
from tests.outcomes import outcome

CHEAPEST = "they are the cheapest set that was found, 20.0% of the operations of 4 products"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            attribution(need()),
            [
                f"{MAKE_M} from 13 bits on",
                "it is the only set that is enough, 10.0% of the operations of 4 products; tried: finite",
            ],
        ),
        (
            attribution(
                need(), need(CONVEX, bits=None, explicit=True), unique=False, cured=None, others=(("a", "b"),)
            ),
            [
                f"{MAKE_M} from 13 bits on",
                f"{CONVEX} at 23 bits, which names a precision of its own",
                f"{CHEAPEST}; not tried as a cure",
                "or instead a and b",
            ],
        ),
        (
            attribution(undecided="not decided by 32 replays"),
            ["not decided by 32 replays, 4 products searched"],
        ),
    ],
)
def test_every_answer_has_its_sentences(found, said):
    assert list(sentences(found)) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (around(), "raises no other product, 10.0% of the operations; tried: finite"),
        (around(beyond=("a", "b")), "raises a and b too, 10.0% of the operations; tried: finite"),
        (around(beyond=("a", "b", "c", "d"), finite=False), "raises 4 other products too, 10.0% of the "),
    ],
)
def test_the_setting_around_a_call_says_what_else_it_raises(found, said):
    *_, last = sentences(attribution(need(), around=found))

    assert last.startswith('`jax.default_matmul_precision("highest")` around mujoco.mjx._src.support.make_m ')
    assert said in last


def test_an_attribution_survives_json():
    found = attribution(
        need(), need(CONVEX, explicit=True), others=(("a",),), unique=False, around=around(beyond=("b",))
    )
    report = Report(
        command="probe", subject="hand.xml", examined=1, outcomes=(replace(outcome(16), attribution=found),)
    )

    (back,) = received(json.loads(json.dumps(written(report)))).outcomes

    assert back.attribution == found
