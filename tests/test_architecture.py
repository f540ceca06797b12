"""The direction of imports between rooms, written down once."""

import ast
from pathlib import Path

import pytest

import jaxdoctor
from tests.paths import ROOT as REPOSITORY

ROOT = Path(jaxdoctor.__file__).parent

ROOMS = (
    # A room imports only from rooms of earlier rows, and from itself.
    ("errors",),
    ("registry", "facts"),
    ("workers",),
    ("programs",),
    ("models",),
    ("machine", "rules", "storage", "command"),
    ("rollouts", "prescriptions", "bundles"),
    ("replay", "reports"),
    ("probe", "checkpoints", "config"),
    ("updates", "recommend", "options"),
    ("preflight", "remedies"),
    ("commands",),
    ("cli",),
    ("__main__",),
)

FACE = {"__init__", "__main__", "cli", "command", "errors", "options", "registry"}
"""The only modules that stand in the root."""

PLUGS = {
    "rules.environment", "rules.precision", "rules.model", "rules.values", "rules.counters", "rules.dtypes",
    "rules.integrity", "rules.optimizer", "rules.run", "rules.update", "checkpoints.readers",
    "rules.bundle", "reports.formats", "machine.cards", "rollouts.policies", "rollouts.sources",
    "replay.systems", "models.scenarios", "commands",
}  # fmt: skip
"""Folders whose modules never import one another."""

HEAVY = {"jax", "jaxlib", "mujoco", "optax", "brax", "flax", "orbax", "torch"}
MAY_BE_HEAVY = ("machine.measuring", "models", "programs", "remedies", "replay", "rollouts", "updates.trace")
READ_BY_THE_PARENT = (
    "models.compile", "models.lines", "models.scenario", "rollouts.source",
    "rollouts.brax_layout", "rollouts.policies", "rollouts.policy", "rollouts.played", "rollouts.read_arrays",
    "rollouts.read_pickle", "rollouts.saved_policy",
)  # fmt: skip
"""Modules of heavy rooms that commands import: they stay light."""


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def room(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path: Path, *, top_level: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = ast.iter_child_nodes(tree) if top_level else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def test_the_root_holds_only_the_face():
    assert {path.stem for path in ROOT.glob("*.py")} == FACE


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_one_way(path):
    """A module imports only what stands in an earlier row, or in its own room."""
    row = {name: index for index, rooms in enumerate(ROOMS) for name in rooms}
    own = room(path)
    if own == "__init__":
        return

    assert own in row, f"{own} has no row: add it to ROOMS"

    folder = dotted(path).rpartition(".")[0]
    for name in imports(path, top_level=False):
        parts = name.split(".")
        if parts[0] != "jaxdoctor" or len(parts) == 1 or parts[1] == "__version__":
            continue
        if parts[1] != own:
            assert row[parts[1]] < row[own], f"{path} imports {name}, which is not above it"
        elif folder in PLUGS:
            assert not name.startswith(f"jaxdoctor.{folder}."), f"{path} imports its neighbour {name}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_heavy_packages_stay_where_they_are_used(path):
    """Only the rooms that trace, replay or cure touch jax and mujoco when they are imported."""
    read = any(dotted(path) == name or dotted(path).startswith(f"{name}.") for name in READ_BY_THE_PARENT)
    if dotted(path).startswith(MAY_BE_HEAVY) and not read:
        return

    heavy = {name for name in imports(path, top_level=True) if name.split(".")[0] in HEAVY}

    assert not heavy


TESTED_ELSEWHERE = REPOSITORY / "tests" / "tested_elsewhere.txt"
"""Modules without a test file of their own name, each driven by the tests of what calls it."""


def without_tests() -> set[str]:
    tests = {
        str(path.relative_to(REPOSITORY / "tests")) for path in (REPOSITORY / "tests").rglob("test_*.py")
    }
    return {
        dotted(path)
        for path in modules()
        if path.stem not in {"__init__", "__main__"}
        and str(path.relative_to(ROOT).with_name(f"test_{path.name}")) not in tests
    }


def test_a_module_has_tests_of_its_own_or_stands_in_the_list():
    """The list says which have none; it may only shrink."""
    assert without_tests() == set(TESTED_ELSEWHERE.read_text().split())
