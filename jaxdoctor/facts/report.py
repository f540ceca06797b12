"""What a command found, in one value. Formats see nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.errors import FINDINGS, NOTHING_EXAMINED, interruption
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Finding, Ignored, Severity, Skipped
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.signature import Signature


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of one command."""

    command: str
    subject: str
    examined: int
    """How many subjects were really judged. 0: the exit code says so."""

    environment: Environment | None = None
    findings: tuple[Finding, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    series: tuple[Series, ...] = ()
    signatures: tuple[Signature, ...] = ()
    prescription: Prescription | None = None
    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    """What the configuration or a baseline sets aside: shown, and never failed on."""

    partial: bool = False
    """Interrupted: what was found so far."""

    fail_on: Severity | None = Severity.ERROR
    """What `--fail-on` said, so that a format can tell the exit code; None: never."""

    def exit_code(self, fail_on: Severity | None) -> int:
        """0, 1, 3 or, for a partial report, 130 or 143; with None for `fail_on` findings never fail."""
        if self.partial:
            return interruption()
        if fail_on is not None and any(finding.severity >= fail_on for finding in self.findings):
            return FINDINGS
        return 0 if self.examined else NOTHING_EXAMINED
