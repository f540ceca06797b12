"""The folder of a run: what in it names the newest save, and the folders of saves in which nothing is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.placeholders import SAVE_AGAIN
from jaxdoctor.storage.steps import WORDS, is_step_name, run_of, step_of
from jaxdoctor.storage.torch.deepspeed import is_deepspeed

NUMBERED = {"latest_checkpointed_iteration.txt": ("iter_{:07d}", "global_step_{}")}
"""Files that hold the number of the newest save, with what its folder is called: Megatron's and verl's."""

NAMED = frozenset({"latest", "latest.txt", "last_checkpoint", "latest_checkpoint", "latest_checkpoint.txt"})
"""Files that hold the name or the path of the newest save."""

TENSORFLOW = "checkpoint"
TENSORFLOW_NAME = re.compile(rb'^model_checkpoint_path: "([^"\n]{1,500})"', re.MULTILINE)
LINKS = re.compile(r"(?:latest|last|best|newest|current)(?:[._-][\w.-]*)?")
LONGEST = 1024
"""Bytes of a file that names a save."""

ALWAYS_STEP = re.compile(rf"{WORDS}[_-]?\d+", re.IGNORECASE)
"""Names that only saves have: "checkpoint-500". A bare number may be anything."""


def dangling_pointers(folder: Candidate, saves: Sequence[str]) -> Iterator[tuple[Path, Fault]]:
    """What in the folder of a run names a save that is not there, with the path of the file or link.

    Args:
        folder: the run's.
        saves: the names in it that are saves or hold some; without any, only Megatron's and verl's own
            file is believed.
    """
    if not saves and not any(map(folder.has, NUMBERED)):
        return
    saves = sorted(saves, key=lambda name: step_of(Path(name)) or 0)
    names = set(os.listdir(folder.spelled))  # noqa: PTH208 (names are what is compared)
    for name in sorted(names & {*NUMBERED, *NAMED, TENSORFLOW} | {n for n in names if LINKS.fullmatch(n)}):
        target = _dangling(folder, name, names, saves)
        if target is not None:
            path = folder.path / name
            yield path, _fault(path, target, saves)


def _dangling(folder: Candidate, name: str, names: set[str], saves: Sequence[str]) -> str | None:
    """The save that it names and that is not there."""
    path = os.path.join(folder.spelled, name)  # noqa: PTH118 (costs less than a `Path`)
    if os.path.islink(path):  # noqa: PTH114
        linked = bool(saves) and LINKS.fullmatch(name) and not os.path.exists(path)  # noqa: PTH110
        return os.readlink(path) if linked else None  # noqa: PTH115
    content = folder.child(name).head[:LONGEST]
    if name in {*NUMBERED, *NAMED} and saves and not content.strip(b"\0 \t\r\n"):
        return "" if os.path.isfile(path) and not _is_deepspeed(folder, name, saves) else None  # noqa: PTH113
    if name in NUMBERED:
        return _numbered(content, NUMBERED[name], names)
    # What names a save of DeepSpeed is judged with the save.
    if not saves or _is_deepspeed(folder, name, saves):
        return None
    if name == TENSORFLOW:
        return _tensorflow(content, names)
    return _named(content, names) if name in NAMED else None


def _is_deepspeed(folder: Candidate, name: str, saves: Sequence[str]) -> bool:
    return name == "latest" and is_deepspeed(folder.child(saves[-1]))


def _numbered(content: bytes, forms: Sequence[str], names: set[str]) -> str | None:
    text = content.decode("ascii", "replace").strip()
    if text.isdecimal() and len(text) < 19:  # noqa: PLR2004 (more is no step)
        wanted = [form.format(int(text)) for form in forms]
        own = [form for form in wanted if any(_same_kind(form, name) for name in names)] or wanted
        return None if names & {*wanted, text} else own[0]
    return text if text == "release" and text not in names else None


def _same_kind(form: str, name: str) -> bool:
    return re.sub(r"\d+", "#", form) == re.sub(r"\d+", "#", name)


def _named(content: bytes, names: set[str]) -> str | None:
    text = content.decode("utf-8", "replace").strip()
    last = text.rstrip("/").rpartition("/")[2]
    if not re.fullmatch(r"[\w.=-]{1,200}", last):
        return None
    steps = {re.sub(r"\D", "", name).lstrip("0") for name in names}
    known = last in names or any(name.startswith(f"{last}.") for name in names)
    return None if known or (last.isdecimal() and last.lstrip("0") in steps) else last


def _tensorflow(content: bytes, names: set[str]) -> str | None:
    found = TENSORFLOW_NAME.search(content)
    if found is None:
        return None
    last = found[1].decode("utf-8", "replace").rpartition("/")[2]
    known = last in names or any(name.startswith(f"{last}.") for name in names)
    return None if known or not any(name.endswith(".index") for name in names) else last


def _fault(path: Path, target: str, saves: Sequence[str]) -> Fault:
    there = f"; {saves[-1]} is" if saves else ""
    verb = "leads to" if path.is_symlink() else "names"
    if not target:
        return Fault(
            kind="pointer-dangling",
            message=f"{path.name} is empty, so that no save is found by it",
            path=str(path),
            evidence={"there": list(saves[-20:])},
            fix=f"copy it again, or write the name of {saves[-1]} into it once that is known to be whole",
        )
    return Fault(
        kind="pointer-dangling",
        message=f"{path.name} {verb} {target[:200]}, which is not there{there}",
        path=str(path),
        evidence={"names": target[:200], "there": list(saves[-20:])},
        fix=f"copy {target[:200]}"
        + (f", or name {saves[-1]} in its place once it is known to be whole" if saves else ""),
    )


def lost_parts(folder: Candidate, held: Mapping[str, Sequence[str]]) -> Iterator[tuple[Path, Fault]]:
    """Steps that lack a part which all steps before hold, such as the actor of verl beside its critic.

    Args:
        folder: the run's.
        held: by the name of each step's folder, what of it is a checkpoint, relative to the step.
    """
    steps = sorted((name for name in held if is_step_name(name)), key=lambda name: step_of(Path(name)) or 0)
    for index, name in enumerate(steps[1:], 1):
        before = [set(held[step]) for step in steps[:index] if run_of(Path(step)) == run_of(Path(name))]
        lost = sorted(set.intersection(*before) - set(held[name])) if before else []
        if lost:
            path = folder.path / name
            them = "it" if len(lost) == 1 else "them"
            message = f"{are_missing(lost)} from {name}; {steps[index - 1]} has {them}"
            yield (
                path,
                Fault(
                    kind="missing-file",
                    message=message,
                    path=str(path),
                    evidence={"missing": lost[:20]},
                    fix=f"copy {them} too, or restore {steps[index - 1]}",
                ),
            )


def empty_saves(
    folder: Candidate, empty: Sequence[str], saves: Sequence[str]
) -> Iterator[tuple[Path, Fault]]:
    """What holds nothing and is called as the saves beside it, or as only folders of saves are.

    Args:
        folder: the run's.
        empty: names of folders in it without any file, and of files in it without any byte.
        saves: names of files and folders in it that are saves or hold some.
    """
    kinds = {run_of(Path(name)) for name in saves}
    for name in empty:
        if (folder.path / name).is_file():
            if run_of(Path(name)) in kinds:
                yield folder.path / name, _empty_file(folder.path / name)
            continue
        like = sum(run_of(Path(save)) == run_of(Path(name)) for save in saves)
        if (run_of(Path(name)) in kinds and is_step_name(name)) or ALWAYS_STEP.fullmatch(name):
            beside = f"; {counted(like, 'folder')} beside it {'holds a save' if like == 1 else 'hold saves'}"
            yield (
                folder.path / name,
                Fault(
                    kind="empty-save",
                    message=f"{name} holds nothing{beside if like else ''}",
                    path=str(folder.path / name),
                    evidence={"saves_beside": like},
                ),
            )


def _empty_file(path: Path) -> Fault:
    message = f"{path.name} is empty"
    return Fault(kind="truncated-file", message=message, path=str(path), fix=SAVE_AGAIN)
