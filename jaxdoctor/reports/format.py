"""The contract of an output format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from jaxdoctor.facts.report import Report
from jaxdoctor.registry import Folder


@dataclass(frozen=True, kw_only=True)
class Format:
    """One way to write a report. It writes to the stream that it is given and does nothing else."""

    write: Callable[[Report, TextIO], None]
    suffixes: tuple[str, ...]
    """What `--output` files of this format end in: ".sarif". A file that ends so is of this format."""

    accepts: tuple[str, ...] = ()
    """What they may end in as well, where `--format` names the format."""

    for_logs: bool = False
    """Whether it is read where it is printed, and not from a file."""


FORMATS = Folder("jaxdoctor.reports.formats", Format, noun="format")
