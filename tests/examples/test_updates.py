"""The examples of updates and remedies are run: each shows the failure and the cure."""

import re
import runpy
import warnings

import pytest

from jaxdoctor.updates.check import Wish, check_update
from tests.paths import ROOT

EXAMPLES = ROOT / "examples"


def said(name, capsys):
    runpy.run_path(str(EXAMPLES / "remedies" / f"{name}.py"))
    return capsys.readouterr().out.splitlines()


def test_check_update_names_the_line_that_promotes():
    report = check_update(Wish(target="examples/update/train.py:ill", calls_per_second=244))

    drift, wraps, stalls = report.findings
    source = (EXAMPLES / "update" / "train.py").read_text().splitlines()
    assert drift.name == "state-dtype-drifts"
    assert drift.location.path == "examples/update/train.py"
    assert source[drift.location.line - 1].strip() == "return params - RATE * gradients"
    assert drift.evidence["leaves"] == ["params/b", "params/w"]
    assert drift.fix == (
        f"at examples/update/train.py:{drift.location.line}, cast the result with .astype(jnp.bfloat16) "
        "(tried: settles at once)"
    )
    assert (wraps.name, stalls.name) == ("counter-will-wrap", "counter-will-stall")
    assert wraps.message.endswith("wraps at call 524,288, after 36 minutes")
    assert stalls.message.endswith("call 16,777,216, after 19 hours")


def test_the_cured_update_is_healthy():
    report = check_update(Wish(target="examples/update/train.py:cured", calls_per_second=244))

    assert not report.findings
    assert not report.skipped
    assert [(each.leaf, each.dtype) for each in report.signatures[0].counters] == [
        ("env_steps", "uint32x2"),
        ("seen", "uint32x2"),
    ]


def test_step_counter(capsys):
    assert said("step_counter", capsys) == [
        "int32: -2147483648",
        "StepCounter: 2147483648",
        "repaired: 2147483648",
    ]


def test_stable_dtypes(capsys):
    alone, lost, wrapped = said("stable_dtypes", capsys)

    assert alone.startswith("alone: scan body function carry input and carry output must have equal types")
    assert lost.startswith("said: stable_dtypes casts ")
    assert wrapped == "wrapped: 3 of 3 leaves have the dtype they began with"


def test_save_cadence(capsys):
    assert said("save_cadence", capsys) == [
        "saves of the trainer: 52",
        "saves by cadence: [50, 100]",
        "told: step 102 is past the maximum of 100, and the end is saved: the loop should have stopped",
    ]


def test_save_dtype(capsys):
    moment, refused, lost = said("save_dtype", capsys)

    assert moment == "a second moment in bfloat16 after 1000 small gradients: 1"
    assert refused == (
        "refused: opt_state/0/nu/w is a second moment: save it in float32, not in bfloat16, "
        "as by the policy {'opt_state/0/nu/*': 'float32', '*': 'bfloat16'}"
    )
    assert float(lost.split()[-4]) == pytest.approx(2**-8, rel=0.5)


def test_train_state(capsys):
    assert said("train_state", capsys) == ["environment steps: 2,147,483,648", "checkpoint due: True"]


def test_guard(capsys):
    assert said("guard", capsys) == [
        "failed: angle at step 7 in row 1",
        "lengths before it: [0.375, 0.25, 0.125]",
        "steps of all rows: [20, 20, 20, 20]",
    ]


@pytest.mark.parametrize(("page", "blocks"), [("remedies.md", 7), ("attribution.md", 2), ("replay.md", 1)])
def test_a_page_runs_from_its_beginning_to_its_end(page, blocks):
    """Its blocks are one program."""
    found = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a package that Orbax imports
        exec(compile("\n".join(found), page, "exec"), {"__name__": page})

    assert len(found) == blocks
