"""The direction of imports, written down once."""

import ast
from pathlib import Path

import pytest

import jaxdoctor

ROOT = Path(jaxdoctor.__file__).parent

LAYERS = (
    # Each module imports only from layers above its own.
    (
        "errors",
        "precision",
        "finding",
        "progress",
        "streams",
        "telling",
        "dtypes",
        "release",
        "product",
        "host",
    ),
    ("budget", "mjcf", "registry", "environment", "delivery", "model", "trial", "checkpoint", "signature"),
    ("outcome", "prescription", "worker", "parameters", "survey", "refusals"),
    ("rule", "reader", "card", "source", "scenario", "command", "report"),
    ("format", "counters", "reading", "expectation"),
    ("wording", "look", "compatibility"),
    ("exchange", "screen", "pages", "fingerprint", "config"),
    ("summary", "web", "received", "waiving", "merging", "advising", "rewriting"),
    ("rules", "readers", "formats", "cards", "sources", "scenarios", "remedies"),
    ("diagnose", "census", "roles", "discover", "replay", "trace"),
    ("machine", "caching", "verdict"),
    ("rollout",),
    ("assembling", "prescribing"),
    ("scan", "probe", "update"),
    ("subjects",),
    ("remembering",),
    ("preflight", "recommend"),
    ("publish",),
    ("options",),
    ("watch",),
    ("commands",),
    ("cli",),
    ("__main__",),
)

PLUGS = {"rules", "readers", "formats", "cards", "sources", "scenarios", "commands"}
"""Folders whose modules never import one another."""

HEAVY = {"jax", "jaxlib", "mujoco", "optax", "brax", "flax", "orbax", "torch"}
MAY_BE_HEAVY = {"replay", "trace", "sources", "remedies"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def subject(path: Path) -> str:
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
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    """A module imports only what stands in an earlier layer, or beside it in its own folder."""
    depth = {name: index for index, layer in enumerate(LAYERS) for name in layer}
    own = subject(path)
    if own == "__init__":
        return

    assert own in depth, f"{own} has no layer: add it to LAYERS"

    for name in imports(path, top_level=False):
        parts = name.split(".")
        if parts[0] != "jaxdoctor" or len(parts) == 1:
            continue
        if parts[1] == own:
            assert own not in PLUGS, f"{path} imports its neighbour {name}"
            continue
        assert depth[parts[1]] < depth[own], f"{path} imports {name}, which is not below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_where_they_are_used(path):
    """Only the folders that replay, fetch or cure touch jax and mujoco when they are imported."""
    if subject(path) in MAY_BE_HEAVY:
        return

    heavy = {name for name in imports(path, top_level=True) if name.split(".")[0] in HEAVY}

    assert not heavy
