"""JD223: hulls that are slow to collide."""

import numpy as np
import pytest

from tests.mjcf import findings, mjcf

RULE = "large-mesh-hull"


@pytest.mark.parametrize(("points", "count"), [(400, 1), (60, 0)])
def test_a_hull_is_counted_by_its_vertices(points, count):
    """Points on a sphere are all on the hull."""
    directions = np.random.default_rng(0).standard_normal((points, 3))
    ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    vertices = " ".join(f"{value:.5f}" for value in ball.ravel())
    world = '<geom type="plane" size="1 1 1"/>'
    world += '<body pos="0 0 2"><freejoint/><geom type="mesh" mesh="ball"/></body>'

    found = findings(RULE, mjcf(world, after=f'<asset><mesh name="ball" vertex="{vertices}"/></asset>'))

    assert len(found) == count
    assert all(finding.message == "mesh ball has a hull of 400 vertices, above 200" for finding in found)
