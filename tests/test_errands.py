"""The errands of CONTRIBUTING, walked: each adds its one file to a copy of the package and sees it work."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.paths import ROOT

RULE = '''
"""JD399."""

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD399", Severity.WARNING)
def always_here(saved: Checkpoint) -> Hits:
    """A checkpoint is there."""
    yield Hit(location=Location(path=saved.path), message="it is there", evidence={})
'''

READER = '''
"""Files that shout."""

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.contents import Contents


def _read(path, budget):
    words = path.read_bytes()
    budget.count(len(words))
    return Contents(leaves=[Leaf(path="words", dtype="int32", shape=(len(words),))])


READER = Reader(recognizes=lambda candidate: candidate.head[:5] == b"SHOUT", read=_read, suffixes=(".shout",))
'''

FORMAT = '''
"""The number of findings."""

from jaxdoctor.reports.format import Format

FORMAT = Format(write=lambda report, out: out.write(f"{len(report.findings)} found\\n"), suffixes=(".tally",))
'''

CARDS = '''
"""A family of one card."""

from jaxdoctor.machine.card import Card, Family

FAMILY = Family(
    name="Toy",
    source="https://example.org",
    cards=(Card(name="toy-1", compute_capability="8.0", market="toy", fp64_ratio=1 / 32, memory_gib=1),),
)
'''

COMMAND = '''
"""`jaxdoctor greet`."""

import typer

from jaxdoctor.command import Command


def greet() -> None:
    """Greet whoever asks."""
    typer.echo("good day")


COMMAND = Command(greet, ("jaxdoctor greet",))
'''

REMEDY = '''
"""A remedy."""


def rest() -> str:
    """What one should do."""
    return "sleep"
'''

SOURCE = '''
"""Words that name a spring."""

from jaxdoctor.rollouts.source import Source

SOURCE = Source(
    accepts=lambda argument: argument.startswith("spring:"),
    check=lambda argument: None,
    system="spring",
    load=lambda argument: float({"soft": 3}.get(argument[7:], argument[7:])),
)
'''

SYSTEM = '''
"""A mass on a spring, in plain JAX."""

import numpy as np

from jaxdoctor.replay.system import Simulation, System
from jaxdoctor.rollouts.record import Recording, default_steps


def _record(plan, folder, progress):
    steps = default_steps(0.01) if plan.steps is None else plan.steps
    return Recording(
        starts={"x": np.linspace(1, 2, plan.replays), "v": np.zeros(plan.replays)},
        ctrl=np.zeros((plan.replays, steps, 1)),
        start="1 to 2",
        controls="none",
    ), None


def _load(plan, folder):
    import jax.numpy as jnp

    from jaxdoctor.rollouts.source import find_source

    def step(stiffness, state, control):
        v = state["v"] - 0.01 * stiffness * state["x"] + control[0]
        return {"x": state["x"] + 0.01 * v, "v": v}

    return Simulation(
        step=step,
        # Without a dtype: a worker with x64 loads it too.
        parameters=jnp.asarray(find_source(plan.model).load(plan.model)),
        blank={"x": jnp.asarray(0.0), "v": jnp.asarray(0.0)},
        controls=1,
        carried=("x", "v"),
        state=("x", "v"),
        coordinates="x",
        pipeline=("v", "x"),
        seconds=0.01,
    )


SYSTEM = System(record=_record, load=_load)
'''


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A copy of the package with one more file for each errand."""
    folder = tmp_path_factory.mktemp("grown")
    shutil.copytree(ROOT / "jaxdoctor", folder / "jaxdoctor", ignore=shutil.ignore_patterns("__pycache__"))
    for path, source in {
        "rules/values/always_here.py": RULE,
        "checkpoints/readers/shout.py": READER,
        "reports/formats/tally.py": FORMAT,
        "machine/cards/toy.py": CARDS,
        "commands/greet.py": COMMAND,
        "remedies/rest_.py": REMEDY,
        "rollouts/sources/spring.py": SOURCE,
        "replay/systems/spring.py": SYSTEM,
    }.items():
        target = folder / "jaxdoctor" / path
        assert not target.exists()
        target.write_text(source)
    return folder


def jaxdoctor(grown, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "jaxdoctor", *map(str, arguments)],
        cwd=grown,
        env={**os.environ, "PYTHONPATH": str(grown)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_rule_judges_whatever_its_parameter_is_called(grown, tmp_path):
    np.savez(tmp_path / "step_1.npz", w=np.ones(2, "f4"))

    done = jaxdoctor(grown, "scan-checkpoint", tmp_path, "--format", "json")

    assert "JD399" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}, done.stderr
    assert "always-here" in jaxdoctor(grown, "rule", "JD399").stdout


def test_a_reader_takes_its_files(grown, tmp_path):
    (tmp_path / "loud.shout").write_bytes(b"SHOUT" * 3)

    done = jaxdoctor(grown, "scan-checkpoint", tmp_path, "--format", "json")

    (checkpoint,) = json.loads(done.stdout)["checkpoints"]
    assert checkpoint["format"] == "shout"


def test_a_format_is_offered_and_chosen_by_its_suffix(grown, tmp_path):
    np.savez(tmp_path / "step_1.npz", w=np.ones(2, "f4"))

    assert jaxdoctor(grown, "scan-checkpoint", tmp_path, "--format", "tally").stdout == "1 found\n"
    jaxdoctor(grown, "scan-checkpoint", tmp_path, "--output", tmp_path / "out.tally")
    assert (tmp_path / "out.tally").read_text() == "1 found\n"


def test_a_card_is_listed(grown):
    assert "toy-1" in jaxdoctor(grown, "cards").stdout


def test_a_command_is_there(grown):
    assert jaxdoctor(grown, "greet").stdout == "good day\n"
    assert "greet" in jaxdoctor(grown, "--help").stdout


def test_a_remedy_is_imported_by_its_name(grown):
    code = "from jaxdoctor.remedies import rest; print(rest())"
    done = subprocess.run([sys.executable, "-c", code], cwd=grown, capture_output=True, text=True, check=True)

    assert done.stdout == "sleep\n"


def test_a_configuration_names_an_environment_as_the_command_line_does(grown, tmp_path):
    (tmp_path / "jaxdoctor.yaml").write_text("probe:\n- model: spring:soft\n  cards: [nosuch]\n")

    done = jaxdoctor(grown, "preflight", "--config", tmp_path / "jaxdoctor.yaml")

    assert "nosuch" in done.stderr
    assert "spring:soft does not exist" not in done.stderr


@pytest.mark.slow
def test_an_environment_is_two_files(grown):
    """A source and a system; all else is the replay's."""
    done = jaxdoctor(
        grown, "probe", "spring:soft", "--card", "rtx-4090", "--steps", "20", "--no-cache", "--format", "json"
    )

    report = json.loads(done.stdout)
    assert report["verdict"] == "healthy", done.stderr
    assert report["trials"][0]["steps"] == 20
