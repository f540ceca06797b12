"""Probes from end to end, on a model that compiles in seconds."""

import json
import os
import re
import subprocess
import sys

import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe

FINGER = """
    <body pos="0 {y} 0"><joint axis="0 1 0"/><geom type="sphere" size="0.01" mass="1e-2"/>
      <body pos="0.05 0 0"><joint axis="0 1 0"/><geom type="sphere" size="0.01" mass="1e-2"/>
        <body pos="0.05 0 0"><joint axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1"/>
        </body>
      </body>
    </body>"""

HAND = f"""
<mujoco>
  <option timestep="0.002" iterations="1" ls_iterations="4"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>{"".join(FINGER.format(y=y) for y in range(3))}
  </worldbody>
</mujoco>
"""
"""Light parallel hinges before a long link: each finger's mass matrix is close to singular."""


@pytest.fixture(scope="module")
def hand(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "hand.xml"
    path.write_text(HAND)
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def run(*arguments, cache):
    """A probe in a process of its own; its compiled programs are shared by this module's tests."""
    return subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "probe", *map(str, arguments)],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


SMALL = ("--steps", 20, "--replays", 4)


def test_a_hand_that_tf32_breaks(hand, cache):
    """Verdict, margin, findings, exit code; stdout carries the report and nothing else."""
    done = run(hand, *SMALL, "--format", "json", cache=cache)

    report = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert report["verdict"] == "precision"
    assert report["delivered_bits"] == 10
    assert 11 <= report["required_bits"] <= 23
    assert report["margin_bits"] == 10 - report["required_bits"]
    assert "JD201" in [finding["code"] for finding in report["findings"]]
    assert not report.get("skipped")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report_but_for_times(hand, cache):
    first, second = (json.loads(run(hand, *SMALL, "--format", "json", cache=cache).stdout) for _ in range(2))

    assert timeless(first) == timeless(second)


def timeless(value):
    """The report without what a clock measured."""
    if isinstance(value, dict):
        return {
            name: timeless(inner)
            for name, inner in value.items()
            if not any(word in name for word in ("second", "price", "peak", "tool", "began"))
        }
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_only_what_to_set_is_emitted(hand, cache):
    """The Python that is printed runs and sets what it says."""
    done = run(hand, *SMALL, "--emit", "python", "--fail-on", "never", cache=cache)

    check = "\nassert jax.config.jax_default_matmul_precision == 'highest'\n"
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, "-c", done.stdout + check], check=True)


def test_a_time_limit_too_short_for_the_compiler_is_unknown(hand, tmp_path):
    """Nothing is called healthy that was not replayed, and the reason is told."""
    done = run(hand, *SMALL, "--time-limit", 6, "--format", "json", cache=tmp_path)

    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert report["verdict"] == "unknown"
    assert any("time" in skipped["reason"] for skipped in report["skipped"])
    assert report.get("prescription") is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--steps", "0"], "--steps 0 replays nothing"),
        (["--replays", "0"], "--replays 0 replays nothing"),
        (["--batch", "-1"], "--batch -1 replays nothing"),
        (["--level", "4"], "there is no level 4"),
        (["--level", "1"], "level 1 examines the machine alone, and "),
        (["--time-limit", "0"], "--time-limit 0 leaves no time"),
        (["--card", "rtx-4900"], "there is no card named 'rtx-4900'"),
        (["--precision", "tf33"], "there is no precision named 'tf33'"),
        (["--emit", "toml"], "there is no way to emit settings named 'toml'"),
        (["--scenario", "hand"], "both .* and --scenario hand were given"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(hand, tmp_path, arguments, complaint):
    """Two lines on stderr, exit code 2, no traceback."""
    done = run(hand, *arguments, cache=tmp_path)

    first, second, *rest = done.stderr.splitlines()
    assert done.returncode == 2
    assert done.stdout == ""
    assert not rest
    assert second.startswith(" help: ")
    assert re.match(f"error: {complaint}", first)


def test_numbers_are_checked_before_anything_is_started():
    with pytest.raises(UsageError, match="--steps 0"):
        probe(Ask(model="none.xml", subject="none.xml", steps=0))
