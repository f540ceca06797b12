"""What `--verbose` writes to stderr, through `logging`, which no other call has to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

NAME = "jaxdoctor"

_logger: logging.Logger | None = None


def listen() -> None:
    """From here on messages are written, with the milliseconds since logging began."""
    global _logger  # noqa: PLW0603 (one stderr, one decision for the process)
    import logging  # noqa: PLC0415 (a tenth of the time of a small scan)

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(relativeCreated)7.0f ms  %(message)s"))
    _logger = logging.getLogger(NAME)
    _logger.addHandler(handler)
    _logger.setLevel(logging.DEBUG)
    _logger.propagate = False


def tell(message: str) -> None:
    """Logs what is being done."""
    if _logger is not None:
        _logger.debug("%s", message)
