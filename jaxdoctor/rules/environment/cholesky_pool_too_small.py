"""JD110."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import within
from jaxdoctor.rules.prescribes import larger_pool
from jaxdoctor.rules.rule import Hits, rule

HUNG = range(2, 5)
"""Pools in which it was seen to hang."""


@rule("JD110", Severity.WARNING, prescribes=larger_pool)
def cholesky_pool_too_small(environment: Environment) -> Hits:
    """Batched Cholesky factorizations can hang for ever on this CPU with this jaxlib.

    ## What it saw

    JAX computes on the CPU, jaxlib is 0.10.0 to 0.10.2, and XLA's pool has 2 to 4 threads: that many
    cores, or what `PJRT_NPROC` or `NPROC` say. It is a note where a card is judged that is not in this
    machine because JAX has none here, and nothing is said of this CPU where a card was named.

    ## Why it matters

    A batched `jnp.linalg.cholesky` waits in a thread of the pool for work that only another thread of
    the same pool can do. With as many of them at once as there are threads, none is left. An MJX step
    has several, so a rollout on a CI runner stops silently. `benchmarks/cholesky_pool.py` shows
    it for jaxlib 0.10.2: with 2 threads and 2 factorizations at once 2 of 3 tries hung, with 3 threads
    and 8 of them 3 of 3, with 4 threads 2 of 3. With 1, 8 or 16 threads all returned.

    ## What to do

    Set `PJRT_NPROC=16` before Python starts. jaxdoctor does that for its own replays.

    ## Example

    ```text
    JD110 warning cholesky-pool-too-small: 2 threads in the pool of jaxlib 0.10.2, where batched Cholesky
      can deadlock
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/pjrt/utils.cc
    """
    threads = environment.cpu_threads
    jaxlib = environment.versions.get("jaxlib")
    if environment.elsewhere:
        return
    if environment.device.platform == "cpu" and threads in HUNG and within(jaxlib, "0.10", "0.10.3"):
        yield Hit(
            location=Location(path="jaxlib"),
            message=(
                f"{threads} threads in the pool of jaxlib {jaxlib}, where batched Cholesky can deadlock"
            ),
            evidence={"threads": threads, "jaxlib": jaxlib},
            fix="set PJRT_NPROC=16 before Python starts",
            severity=Severity.NOTE if environment.assumed else None,
        )
