"""JD223."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule

LARGEST = 200
"""MJX's documentation asks for no more vertices in the hull of a mesh that collides."""


@rule("JD223", Severity.NOTE)
def large_mesh_hull(model: Model) -> Hits:
    """A mesh that collides has a large convex hull.

    ## What it saw

    The convex hull of a mesh whose geom can touch others has more than 200 vertices.

    ## Why it matters

    MJX tests every vertex, edge and face of both hulls in every step, in arrays of fixed size: time and
    memory grow with it, and the compile too. It is a matter of speed, not of precision.

    ## What to do

    Collide with primitives, or set `maxhullvert` on the mesh (32 to 64 is plenty for a foot or a finger).

    ## Example

    ```text
    JD223 note large-mesh-hull: mesh torso has a hull of 812 vertices, above 200
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-the-sharp-bits
    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#asset-mesh-maxhullvert
    """
    large = [hull for hull in model.hulls if hull.vertices > LARGEST]
    if not large:
        return
    worst = max(large, key=lambda hull: hull.vertices)
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{worst.spot} has a hull of {worst.vertices} vertices, above {LARGEST}"
            + (f"; {len(large) - 1} more are as large" if len(large) > 1 else "")
        ),
        evidence={"mesh": worst.spot.name, "vertices": worst.vertices, "meshes": len(large)},
        fix='maxhullvert="64"',
    )
