"""What `check-update --run` sends to its worker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ScriptPlan:
    """A training script, and which of its calls is wanted."""

    script: str
    """A file, or with `module` the name of a module, as for `python -m`."""

    arguments: tuple[str, ...] = ()
    module: bool = False
    call: str | None = None
    """The name of a function, or a line; None: the call is chosen."""

    calls: int | None = None
    """So many calls are really made, and their compiles counted; None: two at most."""

    seconds: float = 60.0
    """After so many the script is ended, and what was seen until then is judged."""

    @property
    def subject(self) -> str:
        """As the user named it: "train.py" or "-m package.train"."""
        return f"-m {self.script}" if self.module else self.script
