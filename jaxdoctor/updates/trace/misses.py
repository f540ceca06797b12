"""What JAX itself says of the calls that it traces anew: the log of `jax_explain_cache_misses`."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from jaxdoctor.programs.jax_internals import MISS_LOGGERS

BEGINS = "TRACING CACHE MISS"

OPTION = "jax_explain_cache_misses"

FUNCTION = re.compile(r"(?:for (\S+) defined at|^\s*(\S+) id=\d+)", re.MULTILINE)

ANEW = "made anew"
"""The reason of a function that stands on one line and is another object at each call."""

NEW = "never seen"
"""The reason of a first call."""

MOST_REASONS = 3


class Misses(logging.Filter):
    """Keeps what JAX writes of its cache misses, and keeps it out of the script's own log."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record goes on."""
        message = record.getMessage()
        if not message.startswith(BEGINS):
            return True
        self.messages.append(message)
        return False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """While open, JAX explains its cache misses."""
        before = getattr(jax.config, OPTION, None)
        if before is None:
            yield
            return
        loggers = [logging.getLogger(name) for name in MISS_LOGGERS]
        config: Any = jax.config
        config.update(OPTION, True)
        for logger in loggers:
            logger.addFilter(self)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeFilter(self)
            config.update(OPTION, before)


def reason(messages: Sequence[str], name: str) -> str | None:
    """Why a function was traced anew, of all that was written during one call; None: it was not.

    Args:
        messages: what JAX wrote while it was called.
        name: the function's own.
    """
    own = [message for message in messages if _name(message) == name]
    return _reason(own[-1]) if own else None


def _name(message: str) -> str | None:
    found = FUNCTION.search(message)
    return None if found is None else found[1] or found[2]


def _reason(message: str) -> str:
    if "seen another function defined on the same line" in message:
        return ANEW
    lines = [line.strip() for line in message.splitlines()]
    stated = [line.removeprefix("* ").partition("https://")[0] for line in lines if line.startswith("* ")]
    if stated:
        more = f", and {len(stated) - MOST_REASONS} more" if len(stated) > MOST_REASONS else ""
        return "; ".join(stated[:MOST_REASONS]) + more
    return NEW if "never seen function" in message else lines[-1]
