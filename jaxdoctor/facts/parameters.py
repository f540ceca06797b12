"""A parameter tree by its leaves' dtypes and shapes, as a user writes it or a checkpoint holds it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jaxdoctor.errors import UsageError

ONE = re.compile(r"\s*([^\s=,\[\]]+)\s*=\s*([a-z]\w*)\s*\[([\d\s,]*)\]\s*(?:,|$)")
HINT = "write it as in w=float32[128,64],layer/b=bfloat16[64]"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One leaf of the tree."""

    path: str
    """Keys joined with "/"."""

    dtype: str
    shape: tuple[int, ...]


def is_spec(text: str) -> bool:
    """Whether the text is meant as a list of leaves, and not as the name of something."""
    return "=" in text and "[" in text


def parse(spec: str) -> tuple[Parameter, ...]:
    """The leaves of `w=float32[128,64],layer/b=bfloat16[64]`.

    Raises:
        UsageError: it is not written so, or names a leaf twice.
    """
    found: list[Parameter] = []
    at = 0
    while at < len(spec):
        match = ONE.match(spec, at)
        if match is None:
            raise UsageError(f"--params cannot be read from {spec[at:]!r} on", hint=HINT)
        path, dtype, sizes = match.groups()
        shape = tuple(int(size) for size in sizes.split(",") if size.strip())
        found.append(Parameter(path=path, dtype=dtype, shape=shape))
        at = match.end()
    _refuse_conflicts(found)
    return tuple(found)


def _refuse_conflicts(parameters: Iterable[Parameter]) -> None:
    seen: set[str] = set()
    for each in parameters:
        if each.path in seen or any(each.path.startswith(f"{path}/") for path in seen):
            raise UsageError(f"--params names {each.path} twice, or as a leaf and as a branch", hint=HINT)
        seen.add(each.path)
