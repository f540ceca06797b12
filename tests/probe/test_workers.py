"""What is tried while other workers go on."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from jaxdoctor.facts.outcome import RolledInC, StepInC
from jaxdoctor.facts.precision import F32
from jaxdoctor.probe import workers
from jaxdoctor.probe.after import After
from jaxdoctor.probe.ask import Ask
from jaxdoctor.replay.plan import Judgement, Lane, NativeReplay, Sweep

FINE = RolledInC(replays=64)
STEP = StepInC(step=3, replay=20, holds=True)


@dataclass(frozen=True, kw_only=True)
class Later(After):
    """Remembers what it is asked to try."""

    asked: list

    def at_x64(self, failing, *, near):
        self.asked.append(("x64", failing, near))
        return ()

    def in_c(self):
        self.asked.append(("c",))
        return ()

    def in_float32(self, number, failed, replays):
        self.asked.append(("float32", number, failed, replays))
        return ()


def judged(failed, **fields):
    return Judgement(
        lane=Lane(), replays=64, steps=9, failed=failed, first_bad_step=None, first_bad_field=None,
        bad_fields=(), hidden=0, **fields,
    )  # fmt: skip


def tried(x64, sweep, *, cures=True, in_c=FINE):
    """What is tried when x64 has ended so, and the emulation has handed over so much."""
    asked = []
    replaying = object.__new__(workers._Replaying)
    replaying.ask = replace(Ask(model="m.xml", subject="m"), cures=cures)
    replaying.prepared = SimpleNamespace(in_c=in_c)
    replaying.after = lambda: Later(
        folder="", deadline=time.monotonic() + 9, batch=16, environment=dict, asked=asked
    )
    ended, emulating = Future(), Future()
    ended.set_result(None)
    emulating.set_result(None)
    replaying._cured(SimpleNamespace(known=x64), ended, SimpleNamespace(known=sweep), emulating)
    return asked


HEALTHY = NativeReplay(judgement=judged(0))
BREAKS = Sweep(named=((F32, judged(2, first_bad_replay=52)),))


def test_what_fails_at_x64_is_tried_there():
    failing = NativeReplay(judgement=judged(1), steps_in_c=(STEP,))

    assert tried(failing, None) == [("x64", (STEP,), True)]


def test_what_float32_alone_fails_in_is_tried_in_float32():
    assert tried(HEALTHY, BREAKS) == [("float32", 52, 2, 64)]


@pytest.mark.parametrize(
    ("x64", "sweep", "fields"),
    [
        (HEALTHY, Sweep(named=((F32, judged(0)),)), {}),
        (HEALTHY, None, {}),
        (None, BREAKS, {}),
        (HEALTHY, BREAKS, {"cures": False}),
        (HEALTHY, BREAKS, {"in_c": RolledInC(replays=64, unusable=1), "cures": False}),
    ],
)
def test_what_is_healthy_or_not_to_be_cured_costs_nothing(x64, sweep, fields):
    assert tried(x64, sweep, **fields) == []


def test_what_fails_in_c_is_tried_in_c_before_x64_is_known():
    assert tried(None, None, in_c=RolledInC(replays=64, unusable=1)) == [("c",)]
