"""Outcomes of closed loops, built in a line each."""

from dataclasses import replace

from jaxdoctor.facts.closed_loop import ClosedLoop, Episodes, Mean
from jaxdoctor.facts.precision import F32, TF32
from tests.outcomes import outcome, trial


def loop(**fields):
    """A trained policy with a normaliser that drives an environment in MJX."""
    return ClosedLoop(
        **{"engine": "MJX", "policy": "runs/ppo/12", "trained": True, "normalises": True} | fields
    )


def driven(failed=0, *, full=None, alone=None, policy=None, **episodes):
    """A closed loop of which so many replays failed at TF32, with what its episodes did."""
    decides = trial(failed, TF32, episodes=Episodes(**{"ended": 0} | episodes))
    others = [trial(0, F32, episodes=full or Episodes(ended=0, returns=Mean(10.0, 9.0, 11.0)))]
    others += [] if alone is None else [trial(alone, TF32, batch=1)]
    return replace(outcome(failed), trials=(*others, decides), as_delivered=decides, loop=policy or loop())
