"""The engines on which one environment is replayed: Playground's own default, and MJX beside it."""

from __future__ import annotations

from dataclasses import replace

from jaxdoctor.probe.ask import Ask
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rollouts.sources.environment import PLAYGROUND, EnvironmentNamed, written


def on_each_engine(ask: Ask) -> tuple[Ask, ...]:
    """The ask itself; of an environment of Playground one for Warp, its default, and one for MJX."""
    named = find_source(ask.model).load(ask.model) if ask.model.startswith("--env ") else None
    if not isinstance(named, EnvironmentNamed) or named.suite != PLAYGROUND or "impl" in named.options:
        return (ask,)
    engines = [replace(named, options={**named.options, "impl": impl}) for impl in ("warp", "jax")]
    return tuple(replace(ask, model=written(engine), subject=engine.shown) for engine in engines)
