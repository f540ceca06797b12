"""Checkpoints to judge, as they are asked for."""

from __future__ import annotations

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.roles import assignment, expected_dtype
from jaxdoctor.checkpoints.statistics import Depth
from jaxdoctor.config.settings import ScanEntry
from jaxdoctor.facts.series import Expectations
from jaxdoctor.storage.budget import size_named


def scan_options(entry: ScanEntry) -> Options:
    """What the entry asks.

    Raises:
        UsageError: a role, a dtype or a size cannot be meant.
    """
    return Options(
        depth=Depth(entry.depth),
        series=entry.series,
        expectations=Expectations(
            planned_steps=entry.planned_steps,
            steps_per_second=entry.steps_per_second or None,
            dtypes=dict(expected_dtype(text) for text in entry.expect_dtype),
        ),
        roles=tuple(assignment(text) for text in entry.role),
        memory=size_named(entry.max_memory),
        include=entry.include,
        exclude=entry.exclude,
        leaves=entry.leaves,
    )
