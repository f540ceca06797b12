"""Reads from real files which names honest libraries write, and what they give to what they call."""

import json
import tarfile

from jaxdoctor.checkpoints.discover import recognized
from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.pickles import machine
from jaxdoctor.storage.pickles.judge import Judge, kind_of
from jaxdoctor.storage.pickles.names import Standing
from jaxdoctor.storage.pickles.parts import Global
from tests.paths import FIXTURES

OLDER = (FIXTURES / "jax_0_4_23.pkl", *(FIXTURES / "torch").rglob("*"))
"""What earlier releases saved."""

CODE = {"cloudpickle", "dill"}
"""Their files hold code, whose names are not for the table."""

LOADERS = ("numba",)
"""They unpickle what they are given: what is in there is no longer seen."""


class Recorder(Judge):
    """A judge that notes what it is told."""

    names: dict[str, list[set[str]] | None]

    def named(self, one):
        if one.known.standing not in {Standing.CARRIED, Standing.GETATTR}:
            self.names.setdefault(one.known.current, None)

    def called(self, callee, arguments, *, new):
        if not isinstance(callee, Global) or new or not isinstance(arguments, tuple):
            return
        name = callee.known.current
        if name not in self.names:
            return
        given = self.names[name] = self.names[name] or []
        for place, value in enumerate(arguments):
            if place == len(given):
                given.append(set())
            kind = kind_of(value)
            if kind:
                given[place].add(kind)


def known_names(archive, folder):
    """The names in all files of an archive, by module: what each call was given, None where none was seen."""
    names = {}
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    original = machine.Judge
    machine.Judge = type("Recording", (Recorder,), {"names": names})
    try:
        for path in sorted([*folder.rglob("*"), *OLDER]):
            if path.is_file() and path.parent.name not in CODE:
                name = recognized(Candidate(path))
                if name is not None:
                    READERS.load(name).read(path, Budget())
    finally:
        machine.Judge = original
    for name in json.loads((folder / "torch/weights_only.json").read_text()):
        module, _, last = name.rpartition(".")
        # What torch lists is rebuilt from types, devices and tensors; no function is handed over.
        names.setdefault(f"{module}:{last}", [{"c", "t"}] if last.startswith("_rebuild") else None)
    table = {}
    for full, given in sorted(names.items()):
        module, _, name = full.partition(":")
        if (
            module == "__main__"
            or name.endswith(".__new__")
            or any(module.startswith(part) for part in LOADERS)
        ):
            continue
        kinds = None if given is None else [" ".join(sorted(kinds)) for kinds in given]
        table.setdefault(module, {})[name] = kinds
    return table
