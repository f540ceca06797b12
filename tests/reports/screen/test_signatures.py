"""An update on the terminal: which call was judged stands with the answer, its leaves behind --verbose."""

import io
from dataclasses import replace

from rich.console import Console

from jaxdoctor.facts.report import Report
from jaxdoctor.facts.signature import Recorded
from jaxdoctor.reports.screen import signatures
from tests.signatures import leaf, signature


def shown(draw, found):
    stream = io.StringIO()
    draw(
        Report(command="check-update", subject="", signatures=(found,), examined=1),
        Console(file=stream, width=100),
    )
    return stream.getvalue()


CALL = Recorded(
    name="step", file="train.py", line=40, kind="jit", calls=3, others=("train.py:12 (env_step), 4 calls",)
)


def test_which_call_was_judged_and_which_others_were_seen_stands_with_the_answer():
    found = replace(signature(), call=CALL, data=("batch",), state_parts=("params", "opt_state"))

    answer = shown(signatures.verdicts, found)

    assert "train.py:40 (step), jit, 3 calls seen" in answer
    assert "train.py:12 (env_step), 4 calls" in answer
    assert "params, opt_state" in answer
    assert "data: batch" in answer


def test_the_leaves_are_among_the_tables():
    found = replace(signature(), call=CALL)

    assert "unchanged" in shown(signatures.draw, found)
    assert "train.py:40" not in shown(signatures.draw, found)


def test_a_loop_that_takes_its_state_on_is_not_said_to_compile_twice():
    found = signature(leaf("loss", "~float32", "float32"), rounds=1)

    assert signatures.settles(found) == "after 1 call: jit compiles 2 times"
    assert signatures.settles(replace(found, call=replace(CALL, kind="loop"))) == (
        "after 1 call: the loop takes the state on as it comes out, and compiles nothing for it"
    )
