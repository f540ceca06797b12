"""Outcomes of probes, built in a line each."""

from dataclasses import replace

from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.precision import F32, F64, TF32
from jaxdoctor.facts.trial import Kind, Trial


def trial(failed=0, precision=TF32, kind=Kind.EMULATED, **fields):
    """A trial of 16 replays; one that failed did so in qLD at step 3."""
    if failed:
        fields = {"first_bad_step": 3, "first_bad_field": "qLD", "bad_fields": ("qLD", "qacc")} | fields
    fields = {"replays": 16, "steps": 100} | fields
    return Trial(source="hand.xml", precision=precision, kind=kind, failed=failed, **fields)


def outcome(failed=0, verdict=None, *, required=13, x64=0, full=0, **fields):
    """A probe on a card with TF32: so many of 16 replays failed at what it delivers."""
    decides = trial(failed)
    trials = (trial(full, F32, Kind.NATIVE), trial(x64, F64, Kind.NATIVE), decides)
    return replace(
        Outcome(
            subject="hand.xml",
            trials=trials,
            verdict=verdict or (Verdict.PRECISION if failed else Verdict.HEALTHY),
            required_bits=required,
            delivered_bits=10,
            delivered_by="rtx-4090",
            as_delivered=decides,
        ),
        **fields,
    )
