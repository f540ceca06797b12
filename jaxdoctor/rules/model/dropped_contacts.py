"""JD214."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule


@rule("JD214", Severity.NOTE)
def dropped_contacts(model: Model) -> Hits:
    """MJX may drop contacts, because the model caps how many it looks at.

    ## What it saw

    The custom numerics `max_contact_points` or `max_geom_pairs`, by which a model tells MJX's JAX
    implementation how many contacts to keep, are below what the geoms can make; or already below the
    number of contacts in a start pose, which is a warning.

    ## Why it matters

    What is dropped is not felt: a foot sinks in until it is among the deepest contacts, then jumps. The
    same model in MuJoCo's C engine keeps every contact, so a policy may meet other physics there.

    ## What to do

    Raise the cap until a replay no longer changes, or take geoms out of collision with contype and
    conaffinity, which costs nothing and drops nothing.

    ## Example

    ```text
    JD214 note dropped-contacts: MJX keeps 4 contacts of 19 pairs that can touch
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-the-sharp-bits
    """
    if "contact" in model.disabled:
        return
    evidence = {
        "contact_pairs": model.contact_pairs,
        "contacts_at_start": model.contacts_at_start,
        "max_contact_points": model.max_contact_points,
        "max_geom_pairs": model.max_geom_pairs,
    }
    points = model.max_contact_points
    if points is not None and points < model.contact_pairs:
        missing = model.contacts_at_start > points
        at_start = f", and a start pose has {model.contacts_at_start}" if missing else ""
        yield Hit(
            location=Location(path=model.path),
            message=f"MJX keeps {points} contacts of {model.contact_pairs} pairs that can touch{at_start}",
            evidence=evidence,
            fix=f"max_contact_points of at least {model.contacts_at_start}" if missing else None,
            severity=Severity.WARNING if missing else None,
        )
    pairs = model.max_geom_pairs
    if points is None and pairs is not None and pairs < model.contact_pairs:
        yield Hit(
            location=Location(path=model.path),
            message=f"MJX looks at the nearest {pairs} of up to {model.contact_pairs} pairs of geoms",
            evidence=evidence,
        )
