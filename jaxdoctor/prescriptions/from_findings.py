"""What findings about the machine ask for: settings to make, and settings to take out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.prescription import Means, Prescription, Setting

PRECISION = "jax_default_matmul_precision"
POOL = "16"
"""Threads that jaxlib 0.10.2's batched Cholesky survives."""


def advice(findings: Iterable[Finding]) -> Prescription:
    """What findings of the JD1 group ask for. What rollouts need comes with measured prices instead."""
    found = list(findings)
    settings = [setting for finding in found for setting in _settings(finding)]
    removals = [removal for finding in found for removal in _removals(finding)]
    return Prescription(settings=tuple(dict.fromkeys(settings)), removals=tuple(dict.fromkeys(removals)))


def _settings(finding: Finding) -> Iterable[Setting]:
    make = MAKERS.get(finding.name)
    return [make(finding)] if make else []


def _flag_off(finding: Finding) -> Setting:
    flag = str(finding.evidence["flag"])
    return _setting(finding, Means.XLA, flag, value=False)


def _highest(finding: Finding) -> Setting:
    return _setting(finding, Means.JAX, PRECISION, value="highest")


def _pool(finding: Finding) -> Setting:
    return _setting(finding, Means.ENVIRONMENT, "PJRT_NPROC", value=POOL)


def _setting(finding: Finding, means: Means, key: str, *, value: str | bool) -> Setting:
    return Setting(means=means, key=key, value=value, because=(finding.code,), reason=finding.message)


MAKERS: Mapping[str, Callable[[Finding], Setting]] = MappingProxyType(
    {
        "nan-lost-in-max": _flag_off,
        "bf16-dots-by-flag": _flag_off,
        "cholesky-pool-too-small": _pool,
        "tf32-override-misses-triton": _highest,
    }
)

TO_TAKE_OUT = frozenset({"fatal-xla-flag", "refused-jax-setting", "jax-ignores-variable", "half-x64"})
"""Rules about a setting that must go; which one, their fix says."""


def _removals(finding: Finding) -> Iterable[str]:
    if finding.name in TO_TAKE_OUT:
        fix = finding.fix or "take it out"
        yield f"{finding.code}: {finding.message}: {fix}"
