"""JD253."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import F32
from jaxdoctor.rules.rule import Hits, rule

GIB = 2**30


@rule("JD253", Severity.WARNING)
def card_memory_exceeded(outcome: Outcome) -> Hits:
    """A step of the training batch needs more memory than the card has.

    ## What it saw

    The compiler's plan of the replay says how many bytes it holds at once. For as many environments as
    `--training-batch` names that is more than the card's memory: in float32, or at x64 where the rollout
    needs it. The plan leaves out the policy, its optimizer and what a scan over steps keeps.

    ## Why it matters

    XLA ends the run with RESOURCE_EXHAUSTED, most often at the first step of the training. x64 takes about
    twice the memory, so a batch that fits in float32 may not fit once the cure is applied.

    ## What to do

    Step fewer environments at once, in several updates, or spread them over more cards. The message says how
    many fit.

    ## Example

    ```text
    JD253 warning card-memory-exceeded: 8192 environments take about 31.0 GiB at x64 and rtx-4090 has 24.0 GiB
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    """
    memory, required = outcome.memory, outcome.required_bits
    if memory is None or memory.card is None or memory.batch is None:
        return
    x64 = required is not None and required > F32.mantissa_bits
    needed = memory.needed(x64=x64)
    if needed is None or needed <= memory.card:
        return
    where = "at x64" if x64 else "in float32"
    fitting = int(memory.batch * memory.card / needed)
    yield Hit(
        location=Location(path=outcome.subject),
        message=(
            f"{memory.batch} environments take about {needed / GIB:.1f} GiB {where} "
            f"and {outcome.delivered_by} has {memory.card / GIB:.1f} GiB"
        ),
        evidence={"bytes": int(needed), "card_bytes": memory.card, "batch": memory.batch, "fitting": fitting},
        fix=f"step at most {fitting} environments at once",
    )
