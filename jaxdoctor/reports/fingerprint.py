"""What a finding is recognised by in a later run: its rule and its place, not its numbers or its line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from jaxdoctor.facts.finding import Finding

LETTERS = 32
"""Of a SHA-256 digest in hexadecimal: 128 bits, so that no two findings share one by chance."""


def fingerprint(finding: Finding) -> str:
    """The same for the same illness in the same place.

    Words in the evidence, such as the name of a flag, tell apart what one rule finds in one place. Numbers
    do not: a NaN count that grows is no new finding. Lines and steps move, so they are left out too.
    """
    words = {name: value for name, value in finding.evidence.items() if isinstance(value, str)}
    parts: list[Any] = [finding.code, relative(finding.location.path), finding.location.leaf, words]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


def relative(path: str | None) -> str | None:
    """The path from the working folder on, with forward slashes; one outside of it stays as it is."""
    if path is None or not Path(path).is_absolute():
        return path if path is None else path.replace("\\", "/")
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return Path(path).as_posix()
