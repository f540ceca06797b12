"""The step in the name of a file or of a folder: the one parser for all readers and all rules."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple

from jaxdoctor.storage.unfinished import ENDING

WORDS = r"(?:global_?|env_?|train_?)?(?:steps?|iter(?:ation)?s?|epochs?|checkpoint|ckpt|updates?|timesteps?)"
"""Behind such a word a number is a step, however it looks."""

LAST = re.compile(
    rf"""(?:
        (?P<counted>(?:^|(?<=[A-Za-z_=.-])){WORDS}[_=-]?)(?P<certain>(?:(?<=[_=])-)?\d{{1,18}})
      | (?:^|(?<=[_=]))(?P<signed>-?\d{{1,18}})
      | (?<=[A-Za-z]-)(?P<dashed>\d{{1,18}})
    )
    (?:_steps?)?(?:\.[A-Za-z][\w.-]*)?$""",
    re.VERBOSE | re.IGNORECASE,
)
"""The number at the end of a name: "checkpoint-500", "model_100.pt", "epoch12", "rl_model_64_steps.zip".

Only where nothing but a "_" or "=" stands before it is a dash its sign: "-01627389952". "v2" tells no step.
"""

DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
"""20261121."""

BEHIND_A_DATE = re.compile(
    rf"(?:^|\D){DATE.pattern}[T_-]$|(?:^|\D)(?:19|20)\d\d[_-]\d\d[_-](?:\d\d[T_-])?(?:\d\d[_-])*$"
)
"""What stands before the last number of "run_20261121_101500" and of "run_2026_11_21"."""

FOLDER = re.compile(rf"(?:.*{WORDS}[_=-]?)?-?\d{{1,18}}", re.IGNORECASE)
"""What a folder is called that holds the parts of one step: "global_step_40", "1000"."""

GROUPS = ("certain", "signed", "dashed")


class Named(NamedTuple):
    """A step with its place in the name."""

    step: int
    start: int
    end: int


def find_step(name: str) -> Named | None:
    """The step that a name ends in, and where it stands; None when the number is a date, or there is none."""
    stem = ENDING.sub("", name)
    found = LAST.search(stem)
    if found is None:
        return None
    group = next(group for group in GROUPS if found[group])
    start, end = found.span(group)
    dated = start > 0 and DATE.fullmatch(found[group]) is not None
    if group != "certain" and (dated or BEHIND_A_DATE.search(stem[:start])):
        return None
    return Named(int(found[group]), start, end)


def named_step(name: str) -> int | None:
    """12 from "12", "000000000012", "checkpoint_12" and "step-12"; -12 from "-00000000012" and "step_-12"."""
    found = find_step(name)
    return None if found is None else found.step


def step_of(path: PurePath) -> int | None:
    """The step that a path's name ends in, or else the name of the step's folder it stands in."""
    return next((found.step for _, found in _telling(path)), None)


def run_of(path: PurePath) -> tuple[PurePath, str]:
    """The folder of the run that a checkpoint belongs to, and what the names in it have in common."""
    for numbered, (_, start, end) in _telling(path):
        name = numbered.name
        rest = "" if numbered == path else f"/{path.name}"
        return numbered.parent, f"{name[:start]}#{name[end:]}{rest}"
    return path, ""


def _telling(path: PurePath) -> list[tuple[PurePath, Named]]:
    """The path, and its folder where that is one of a step: those of them whose names have a step."""
    named = (path, path.parent) if FOLDER.fullmatch(path.parent.name) else (path,)
    return [(one, found) for one in named if (found := find_step(one.name)) is not None]


def is_step_name(name: str) -> bool:
    """Whether a run calls one of its saves so: the number alone, or a word, "_" or "-" and a number."""
    return re.fullmatch(r"(?:[A-Za-z][A-Za-z_.\-]*[_\-])?-?\d+", ENDING.sub("", name)) is not None
