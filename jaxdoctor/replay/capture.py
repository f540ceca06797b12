"""Keeps the steps before a replay's failure in the scratch folder, for a bundle."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from jaxdoctor.bundles.bundle import STEPS, Failure
from jaxdoctor.facts.precision import Precision, Rounding
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.one_step import failures
from jaxdoctor.replay.plan import Captured
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.rollouts.record import Recording


def capture(
    scratch: Scratch,
    recording: Recording,
    ensemble: Ensemble,
    parts: Sequence[Rollout],
    precision: Precision,
    *,
    replays: int,
    aside: tuple[str, ...] = (),
    all_products: bool = False,
) -> Captured | None:
    """The earliest failure of one lane, kept in the folder; None where no replay failed.

    Args:
        scratch: the folder.
        recording: start states and controls.
        ensemble: what replayed it.
        parts: the lane's rollouts, one for each part of the replays, in their order.
        precision: of the lane.
        replays: how many are judged; the last part may hold more.
        aside: fields that are not finite in a healthy replay either.
        all_products: whether every product was rounded.
    """
    failed = sorted(failures(parts, replays, aside))
    if not failed:
        return None
    step, replay = failed[0]
    part, row = divmod(replay, parts[0].bad.shape[1])
    rollout, first = parts[part], max(step - STEPS + 1, 0)
    emulated = ensemble.emulated
    fields = tuple(
        leaf
        for leaf, bad in zip(rollout.leaves, rollout.bad[step, row], strict=True)
        if bad and leaf not in aside
    )
    failure = Failure(
        step=step,
        field=fields[0],
        fields=fields,
        replay=replay,
        precision=precision.name,
        emulated=emulated,
        bits=precision.mantissa_bits if emulated else None,
        toward_zero=precision.rounding is Rounding.TOWARD_ZERO,
        all_products=all_products,
        batch=ensemble.batch,
        lanes=ensemble.lanes,
        xla_flags=os.environ.get("XLA_FLAGS", ""),
    )
    state = {leaf: values[first : step + 1, row] for leaf, values in rollout.states.items()}
    whole = set(state) >= set(ensemble.simulation.carried)
    start = {} if whole else {leaf: np.asarray(each[replay]) for leaf, each in recording.starts.items()}
    captured = Captured(failure=failure, first_step=first, start_step=None if whole else 0)
    scratch.keep_capture(
        captured.file, state, start, recording.ctrl[replay, first if whole else 0 : step + 1]
    )
    return captured
