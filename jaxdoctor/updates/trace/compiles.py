"""The XLA compiles of this process."""

from __future__ import annotations

import functools

import jax

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


@functools.cache
def compiles() -> list[float]:
    """The seconds of every XLA compile of this process since the first call, in a list that grows."""
    seconds: list[float] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:  # noqa: ARG001 (jax's names)
        if event == COMPILE_EVENT:
            seconds.append(duration_secs)

    # Older releases of jax cannot take a listener back, so it stays.
    jax.monitoring.register_event_duration_secs_listener(listen)
    return seconds
