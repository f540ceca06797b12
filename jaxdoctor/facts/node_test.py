"""One test of a node: what was expected, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NodeTest:
    """One test of a node."""

    name: str
    passed: bool | None
    """None: it could not be judged."""

    detail: str
    """What was seen, and what was expected where that is another."""

    seconds: float | None = None
    """How long it took; None: it needed nothing but what another test had measured."""

    @property
    def word(self) -> str:
        """PASS, FAIL or UNKNOWN."""
        return "UNKNOWN" if self.passed is None else "PASS" if self.passed else "FAIL"
