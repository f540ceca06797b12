"""What a rule asks to be set, from one of its findings. A rule names one of these in its declaration."""

from __future__ import annotations

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.prescription import Means, Prescription, Setting

PRECISION = "jax_default_matmul_precision"

POOL = "16"
"""Threads that jaxlib 0.10.2's batched Cholesky survives."""


def flag_off(finding: Finding) -> Prescription:
    """Turns the XLA flag of the evidence off."""
    return _one(finding, Means.XLA, str(finding.evidence["flag"]), value=False)


def highest_precision(finding: Finding) -> Prescription:
    """Asks for all bits of every product."""
    return _one(finding, Means.JAX, PRECISION, value="highest")


def larger_pool(finding: Finding) -> Prescription:
    """Gives XLA:CPU more threads. That is about the processor of this machine, whichever card is judged."""
    return _one(finding, Means.ENVIRONMENT, "PJRT_NPROC", value=POOL, this_machine=True)


def removal(finding: Finding) -> Prescription:
    """Has a setting taken out; which one, the finding's fix says."""
    how = "" if finding.fix in {None, "remove it"} else f": {finding.fix}"
    return Prescription(removals=(f"{finding.message}{how} ({finding.code})",))


def enough_bits(finding: Finding) -> Prescription:  # noqa: ARG001 (what is enough stands in the rollout)
    """Asks for as many bits as its rollout requires, which only the rollout's measurements tell."""
    return Prescription()


def _one(
    finding: Finding, means: Means, key: str, *, value: str | bool, this_machine: bool = False
) -> Prescription:
    setting = Setting(
        means=means,
        key=key,
        value=value,
        because=(finding.code,),
        reason=finding.message,
        this_machine=this_machine,
    )
    return Prescription(settings=(setting,))
