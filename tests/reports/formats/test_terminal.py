"""What people read: colour on a terminal, plain text elsewhere, and nothing that steers a terminal."""

import io
import sys
import time
from dataclasses import replace

import pytest

from jaxdoctor.facts.delivery import Arithmetic
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.reports.formats.terminal import FORMAT
from tests.sample_reports import (
    CHECKPOINTS,
    DELIVERIES,
    EMPTY,
    GOLDEN,
    HAND,
    HOSTILE,
    HUGE,
    WALKER,
    checkpoint,
    delivery,
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def plain(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return out.getvalue()


def verbose(report):
    return plain(replace(report, verbose=True))


def on_terminal(report):
    out = Terminal()
    FORMAT.write(report, out)
    return out.getvalue()


def test_the_margin_of_one_rollout_is_a_bar():
    """Ten bits are there, four are missing of the fourteen that it requires, nine are beyond both."""
    text = plain(Report(command="probe", subject="hand", examined=1, outcomes=(HAND,)))

    assert "-4 bits  ██████████░░░░·········  requires 14, rtx-4090 delivers 10" in text
    assert "precision: fails at the precision that rtx-4090 gives; finite at a higher one" in text


def test_the_table_of_precisions_names_the_first_bad_step_and_field():
    text = verbose(Report(command="probe", subject="hand", examined=1, outcomes=(HAND,)))
    (row,) = [line.split() for line in text.splitlines() if line.startswith("tf32 ")]

    assert row == ["tf32", "native", "10", "61", "of", "64", "87-98", "%", "step", "12", "qLD",
                   "9", "/", "84", "3.1e-03", "1.00", "x", "900.0", "MiB"]  # fmt: skip
    assert "6 more precisions in --format json" in text


def test_settings_that_all_deliver_the_same_take_one_line():
    alike = tuple(delivery(name, Arithmetic.F32, 23, 1e-7, 0.1) for name in ("default", "high", "highest"))

    text = verbose(Report(command="probe", subject="cpu", examined=1, deliveries=alike))

    assert "products  23 bits (f32) on 1 tested matrix shape at every precision level: default, high" in text
    assert "setting  arithmetic" not in text


def test_settings_that_differ_take_a_table():
    text = verbose(Report(command="probe", subject="gpu", examined=1, deliveries=DELIVERIES))

    assert "default  tf32-rounded, f32  10-23      2.9e-04  0.021 ms         2" in text


def test_several_rollouts_begin_with_an_overview_and_only_the_ill_are_told_whole():
    text = verbose(Report(command="probe", subject="both", examined=2, outcomes=(HAND, WALKER)))

    assert "+5 bits  █████▓▓▓▓▓·············" in text
    assert text.count("\nverdict   ") == 1


def test_counters_stand_beside_their_limits():
    text = verbose(
        Report(
            command="scan", subject="run", examined=3, series=(Series(path="run", checkpoints=CHECKPOINTS),)
        )
    )

    assert "env_steps          int32    2,040,109,465  2,147,483,647  680,036,488" in text
    assert "95 %    ▁▄█" in text
    assert "<0.1 %" in text


def test_of_many_checkpoints_the_first_and_the_last_are_shown():
    many = tuple(checkpoint(step, step) for step in range(100))

    run = Series(path="run", checkpoints=many)
    text = verbose(Report(command="scan", subject="run", examined=100, checkpoints=many, series=(run,)))

    assert "run/000000" in text
    assert "run/000099" in text
    assert "run/000050" not in text
    assert "80 checkpoints between them are in --format json" in text


def test_findings_come_worst_first_with_their_place_and_fix():
    text = plain(GOLDEN)

    assert text.index("JD302 warning") < text.index("JD101 note")
    assert (
        "JD301 error nonfinite-values: 2 of 256 values are not finite\n"
        "    at run/000300 params/actor/kernel\n" in text
    )
    assert "ignored JD304 optimizer-narrower run/000300 opt_state/0/mu/actor/kernel (memory; compared" in text
    assert "not examined models/rope.xml: MJX has no tendon wrapping" in text


def test_an_update_shows_the_leaves_that_change():
    text = verbose(GOLDEN)

    assert "opt_state/0/count  int32[]  float32[] weak" in text
    assert "unchanged 1 of 2 leaves" in text


def test_outside_a_terminal_there_is_no_escape_and_no_trailing_space():
    text = plain(GOLDEN)

    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_terminal_gets_colour_unless_no_color_is_set(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = on_terminal(GOLDEN)
    monkeypatch.setenv("NO_COLOR", "1")
    colourless = on_terminal(GOLDEN)

    assert "\x1b[1;38;5;231;48;5;160merror" in coloured
    assert "38;5" not in colourless


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_tables_stay_within_the_width(monkeypatch, width):
    """Only finding lines and snippets may be longer: they must stay copyable."""
    monkeypatch.setenv("COLUMNS", str(width))
    tables = Report(command="preflight", subject="x", examined=1, environment=GOLDEN.environment,
                    deliveries=DELIVERIES, checkpoints=CHECKPOINTS, signatures=GOLDEN.signatures)  # fmt: skip

    assert max(map(len, verbose(tables).split("\n")[:-3])) <= width


def test_a_stream_that_cannot_carry_blocks_gets_plain_characters():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")

    FORMAT.write(GOLDEN, out)

    out.flush()
    assert b"##########!!!!........." in out.buffer.getvalue()


@pytest.mark.parametrize("write", [plain, on_terminal])
def test_no_name_steers_the_terminal(monkeypatch, write):
    """Escape sequences, line breaks, direction changes and NUL of a file name are shown, never sent."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")

    text = write(HOSTILE)

    assert "\\x1b[31mred\\x07\\x0d\\x0a::error::smuggled" in text
    assert not {"\x1b", "\x07", "\r", "\x00", "\u202e", "\u2028", "\ud800"} & set(text)
    assert not [line for line in text.splitlines() if line.startswith("::")]


def test_an_empty_report_says_that_nothing_was_examined():
    assert plain(EMPTY).split() == ["no", "findings,", "nothing", "examined"]


def test_ten_thousand_findings_show_the_first_and_count_the_rest():
    started = time.process_time()
    text = plain(HUGE)
    took = time.process_time() - started

    assert text.count("values are not finite") == 50
    assert "JD301 error nonfinite-values: 50 places" in text
    assert "and 4,950 errors, 5,000 warnings more; --output FILE holds all of them" in text
    assert took < 2


def test_a_file_holds_all_of_them():
    """`--output` is never cut."""
    shown = plain(replace(HUGE, in_full=True))

    assert shown.count("values are not finite") == len(HUGE.findings)
    assert "more; --output" not in shown


def test_a_partial_report_says_so():
    assert "interrupted" in plain(replace(GOLDEN, partial=True))


def test_bits_are_a_dash_where_the_model_fails():
    """Of several rollouts, one that float64 breaks requires no number of bits."""
    outcomes = (
        Outcome(subject="chain.xml", trials=(), verdict=Verdict.MODEL, delivered_bits=10),
        Outcome(subject="ant.xml", trials=(), verdict=Verdict.HEALTHY, required_bits=5, delivered_bits=10),
    )

    text = verbose(Report(command="probe", subject="two", examined=2, outcomes=outcomes))

    (row,) = [line for line in text.splitlines() if line.startswith("chain.xml  ")]
    assert row.split()[:5] == ["chain.xml", "model", "-", "10", "none"]


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_can_be_forced_where_stdout_is_no_terminal(monkeypatch, capsys, variables, coloured):
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    FORMAT.write(GOLDEN, sys.stdout)

    assert ("\x1b[" in capsys.readouterr().out) is coloured


def test_a_file_never_holds_colour(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()

    FORMAT.write(GOLDEN, out)

    assert "\x1b" not in out.getvalue()


def test_the_answer_stands_first():
    """The verdict, its bar, what to set, the findings; then what it was seen by."""
    lines = verbose(replace(GOLDEN, outcomes=(HAND,), checkpoints=(), signatures=())).splitlines()
    order = ["verdict", "margin", "import jax", "JD201", "precision", "machine", "versions"]

    at = [next(number for number, line in enumerate(lines) if line.startswith(word)) for word in order]

    assert lines[1].startswith("verdict   precision")
    assert at == sorted(at)


@pytest.mark.parametrize(
    ("steps", "timestep", "said"),
    [
        (500, 0.002, "healthy: finite for 1 s in 16 of 16 replays at the precision that rtx-4090 gives"),
        (250, 0.004, "healthy: finite for 1 s in 16 of 16 replays"),
        (600, 0.001, "healthy: finite for 0.6 s in 16 of 16 replays"),
        (100, 0.002, "healthy for 0.2 s: finite for 0.2 s in 16 of 16 replays"),
        (100, None, "healthy: finite for 100 steps in 16 of 16 replays"),
    ],
)
def test_a_short_rollout_is_never_healthy_without_its_length(steps, timestep, said):
    decides = replace(HAND.trials[0], replays=16, failed=0, steps=steps)
    outcome = replace(
        HAND, verdict=Verdict.HEALTHY, as_delivered=decides, steps=steps, timestep=timestep, required_bits=8
    )

    assert said in plain(Report(command="probe", subject="hand", examined=1, outcomes=(outcome,)))
