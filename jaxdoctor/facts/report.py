"""What a command found, in one value. Formats see nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxdoctor.errors import FINDINGS, MISUSE, NOTHING_EXAMINED, interruption
from jaxdoctor.facts.bundle_replay import BundleReplay
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.coverage import Coverage
from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Finding, Ignored, Reused, Severity, Skipped
from jaxdoctor.facts.node_test import NodeTest
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.facts.run import Run
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.signature import Signature


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of one command."""

    command: str
    subject: str
    examined: int
    """How many subjects were really judged. 0: the exit code says so."""

    run: Run | None = None
    environment: Environment | None = None
    findings: tuple[Finding, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    series: tuple[Series, ...] = ()
    signatures: tuple[Signature, ...] = ()
    bundles: tuple[BundleReplay, ...] = ()
    prescription: Prescription | None = None
    tests: tuple[NodeTest, ...] = ()
    """Of a node: each fails the run as a finding does, whatever `fail_on` says."""

    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    """What the configuration or a baseline sets aside: shown, and never failed on."""

    idle_ignores: tuple[str, ...] = ()
    """Entries of `ignore` that no finding fits any more: "JD304:runs/*"."""

    reused: tuple[Reused, ...] = ()
    """Subjects that count as examined by an earlier run."""

    allowed: Mapping[str, str] = field(default_factory=dict)
    """Subjects that may stay unknown, with the reason."""

    idle_allowances: tuple[str, ...] = ()
    """Entries of `allow-unknown` that name nothing of the project."""

    selected: tuple[str, ...] = ()
    """The rules that alone were judged by, as the user wrote them; none: by all."""

    strict: bool = False
    """Whether everything that was not examined fails, not only what was asked for."""

    configured: str | None = None
    """The file whose settings were applied, as seen from the working folder."""

    configuration_file: str | None = None
    """The same as seen from `root`."""

    root: str | None = None
    """The folder that the findings' files start from, as an absolute path."""

    statistics: bool = False
    """Whether formats for people count the findings of each rule instead of listing them."""

    coverage: Coverage | None = None
    """How much of the values in the checkpoints was read."""

    with_leaves: bool = False
    """Whether formats list the leaves of each checkpoint."""

    verbose: bool = False
    """Whether a terminal shows the machine and every table, not only the answer."""

    in_full: bool = False
    """Whether it is written to a file, where nothing is left out for the sake of a screen."""

    standing: tuple[Finding, ...] = ()
    """Of a series of reports on one job: findings of earlier reports that still hold."""

    partial: bool = False
    """Interrupted: what was found so far."""

    ended_with: int | None = None
    """Of a partial report that was read from a file: its exit code."""

    fail_on: Severity | None = Severity.ERROR
    """What `--fail-on` said, so that a format can tell the exit code; None: never."""

    @property
    def unexamined(self) -> tuple[Skipped, ...]:
        """Everything that has no result: what was skipped, and rollouts whose verdict is unknown."""
        named = {one.subject for one in self.skipped}
        unknown = (
            Skipped(subject=outcome.subject, reason=outcome.reason or "its verdict is unknown", asked=True)
            for outcome in self.outcomes
            if outcome.verdict is Verdict.UNKNOWN and outcome.subject not in named
        )
        return (*self.skipped, *unknown)

    @property
    def unjudged(self) -> tuple[Skipped, ...]:
        """What fails the run: it was asked for, has no result, and is not allowed to be unknown."""
        unknown = {outcome.subject for outcome in self.outcomes if outcome.verdict is Verdict.UNKNOWN}
        return tuple(
            one
            for one in self.unexamined
            if (one.asked or self.strict or one.subject in unknown) and one.subject not in self.allowed
        )

    def exit_code(self, fail_on: Severity | None) -> int:
        """0, 1, 2, 3 or, for a partial report, 130 or 143; with None for `fail_on` findings never fail."""
        if self.partial:
            return self.ended_with or interruption()
        if any(one.misuse for one in self.skipped):
            return MISUSE
        if fail_on is not None and any(finding.severity >= fail_on for finding in self.findings):
            return FINDINGS
        if any(test.passed is False for test in self.tests):
            return FINDINGS
        if self.unjudged or not (self.examined or self.allowed):
            return NOTHING_EXAMINED
        return 0
