"""Attributions, built in a line each."""

from jaxdoctor.facts.attribution import Around, Attribution, Need

MAKE_M = "mujoco/mjx/_src/support.py:67 (make_m)"
CONVEX = "mujoco/mjx/_src/collision_convex.py:628 (_create_contact_manifold)"


def need(place=MAKE_M, **fields):
    return Need(
        **{"place": place, "bits": 13, "explicit": False, "at_batch_one": True, "share": 0.1} | fields
    )


def attribution(*needs, **fields):
    given = {"unique": True, "replays": 16, "hypotheses": 9, "products": 4, "cured": True} | fields
    return Attribution(needs=needs, **given)


def around(**fields):
    given = {"functions": ("mujoco.mjx._src.support:make_m",), "share": 0.1, "finite": True} | fields
    return Around(**given)
