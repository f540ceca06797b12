"""JD506."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Fate, Signature, UpdateCounter
from jaxdoctor.rules.rule import Hits, rule


@rule("JD506", Severity.ERROR)
def counter_will_wrap(signature: Signature) -> Hits:
    """An integer counter in the state will pass the largest value of its dtype and go on below zero.

    ## What it saw

    In the traced program one call adds a fixed amount to the counter, and nothing holds it back. The call at
    which it wraps follows, and with `--calls-per-second` the time. It is an error if that comes within 30
    days, a warning within a year; where no rate is given, a warning if it comes within a thousand million
    additions, of which a loop inside the update makes one at every pass.

    ## Why it matters

    JAX's integers wrap silently. A negative step count makes loggers drop their lines, schedules return
    the learning rate of a step that never was, and a last `assert steps >= planned` fail after the whole
    run. 2^31 environment steps at a million a second are 36 minutes.

    ## What to do

    Count in `jaxdoctor.remedies.StepCounter`, which holds 64 bits in two 32-bit words and works without x64;
    or in units that are rarer, such as updates instead of environment steps.

    ## Example

    ```text
    JD506 error counter-will-wrap: env_steps (int32) grows by 4,096 a call and wraps at call 524,288, after 36
    minutes
    ```

    ## Sources

    - https://github.com/google/brax/issues/578
    - https://github.com/google-deepmind/mujoco_playground/issues/48
    """
    for counter in signature.counters:
        if counter.fate is not Fate.WRAPS or counter.calls is None:
            continue
        severity = counter.urgency(signature.calls_per_second)
        if severity is not None:
            yield _hit(signature, counter, severity)


def _hit(signature: Signature, counter: UpdateCounter, severity: Severity) -> Hit:
    assert counter.calls is not None
    after = counter.when(signature.calls_per_second)
    return Hit(
        location=signature.location(counter.leaf, counter.site),
        message=(
            f"{counter.leaf} ({counter.dtype}) {counter.growth} a call and wraps at call "
            f"{counter.calls:,}{after}{signature.context}"
        ),
        evidence={
            "dtype": counter.dtype,
            "increment": counter.increment,
            "start": counter.start,
            "calls": counter.calls,
            "seconds": counter.seconds(signature.calls_per_second),
            "setting": signature.setting,
        },
        fix="count in jaxdoctor.remedies.StepCounter, which holds 64 bits without x64",
        severity=severity,
    )
