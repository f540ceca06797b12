"""Which of the user's settings JAX or XLA die of, found in child processes.

An unknown XLA flag ends the process without an exception, and a wrong JAX_* variable makes `import jax`
raise. So each suspect is tried in a process of its own, and only after JAX as configured did not start.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxdoctor.machine.xla_flags import XLA_FLAGS, XlaFlags
from jaxdoctor.workers.interpreter import chosen, variables_of

START = "import jax; jax.devices()"

MOST_ROUNDS = 8
"""XLA names all unknown flags at once, but only one wrong value at a time."""

UNINTERPRETABLE = re.compile(r"Couldn't interpret value .* for flag (?P<name>\w+)")


@dataclass(frozen=True, kw_only=True)
class Refusals:
    """What has to go before JAX starts."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """JAX_* variables, with JAX's own words."""

    unknown_flags: tuple[str, ...] = ()
    refused_flags: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """What to set, or with None to unset, so that JAX starts."""


def find_refusals(environ: Mapping[str, str], flags: XlaFlags, deadline: float) -> Refusals:
    """Tries XLA_FLAGS, then each JAX_* variable alone, until `deadline` of the monotonic clock."""
    unknown, refused = _refused_flags(environ, flags, deadline)
    settings = _refused_settings(environ, deadline)
    variables: dict[str, str | None] = dict.fromkeys(settings)
    if XLA_FLAGS in refused:
        variables[XLA_FLAGS] = None
    elif unknown or refused:
        variables[XLA_FLAGS] = flags.without({*unknown, *refused})
    return Refusals(
        settings=settings, unknown_flags=tuple(unknown), refused_flags=refused, variables=variables
    )


def _refused_settings(environ: Mapping[str, str], deadline: float) -> dict[str, str]:
    suspects = {name: value for name, value in environ.items() if name.startswith("JAX_")}
    bare = _without_jax(environ)
    refused = {}
    for name, value in suspects.items():
        complaint = _complaint(bare | {"JAX_PLATFORMS": "cpu", name: value}, deadline)
        if complaint is not None:
            refused[name] = _in_short(complaint)
    return refused


def _in_short(complaint: list[str]) -> str:
    last = complaint[-1] if complaint else "nothing"
    return last if ":" in last else f"JAX does not start with it; its last word is {last}"


def _refused_flags(
    environ: Mapping[str, str], flags: XlaFlags, deadline: float
) -> tuple[list[str], dict[str, str]]:
    if flags.trouble is not None:
        return [], {XLA_FLAGS: flags.trouble}
    unknown: list[str] = []
    refused: dict[str, str] = {}
    bare = _without_jax(environ) | {"JAX_PLATFORMS": "cpu"}
    for _ in range(MOST_ROUNDS):
        left = flags.without({*unknown, *refused})
        complaint = _complaint(bare | {XLA_FLAGS: left}, deadline) if left else None
        if complaint is None:
            return unknown, refused
        new_unknown, new_refused = _blamed(flags, complaint)
        new_unknown = [text for text in new_unknown if text not in unknown]
        if not new_unknown and not new_refused.keys() - refused.keys():
            break
        unknown += new_unknown
        refused |= new_refused
    return unknown, refused | {XLA_FLAGS: "XLA ends the process without naming a flag"}


def _blamed(flags: XlaFlags, complaint: list[str]) -> tuple[list[str], dict[str, str]]:
    """The flags that XLA's last words name: those that it does not know, and those it cannot interpret."""
    said = " ".join(line for line in complaint if "Unknown flag" in line)
    unknown = [argument.text for argument in flags.arguments if argument.text in said.split(": ", 1)[-1]]
    names = {found["name"] for line in complaint for found in UNINTERPRETABLE.finditer(line)}
    refused = {
        argument.text: f"XLA cannot interpret the value {argument.value!r}"
        for argument in flags.arguments
        if argument.name in names
    }
    return (unknown if said else []), refused


def _without_jax(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environ.items() if not name.startswith("JAX_") and name != XLA_FLAGS
    }


def _complaint(variables: Mapping[str, str], deadline: float) -> list[str] | None:
    """What a JAX that does not start under these variables says; None: it starts, or time is over."""
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    try:
        done = subprocess.run(  # noqa: S603 (the interpreter that is examined)
            [chosen(), "-c", START],
            env=variables_of(variables, ours=False),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=left,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return None
    return [line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
