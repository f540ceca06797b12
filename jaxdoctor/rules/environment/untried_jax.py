"""JD123."""

from __future__ import annotations

from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import NEWEST_JAX, newer
from jaxdoctor.rules.rule import Hits, rule


@rule("JD123", Severity.NOTE)
def untried_jax(software: Software) -> Hits:
    """This JAX is newer than the newest that jaxdoctor was tried with.

    ## What it saw

    The release of the installed jax.

    ## Why it matters

    `probe` and `check-update` read the programs that JAX traces, whose layout JAX does not document: jax
    0.11 renamed the parts of a loop. Where a change is not known, what depends on it is not examined, and
    the report says so. All other parts of the report do not depend on the layout.

    ## What to do

    Nothing, while the report is complete. Otherwise a newer jaxdoctor, or the JAX that the note names.

    ## Example

    ```text
    JD123 note untried-jax: this jax (0.14.0) is newer than what was tried (0.12.0.1)
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/changelog.html
    """
    jax = software.versions.get("jax")
    if newer(jax, NEWEST_JAX):
        yield Hit(
            location=Location(path="jax"),
            message=f"this jax ({jax}) is newer than what was tried ({NEWEST_JAX})",
            evidence={"jax": jax, "newest_tried": NEWEST_JAX},
            fix="look for a newer jaxdoctor if something is not examined",
        )
