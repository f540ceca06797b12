"""JD359."""

from __future__ import annotations

from collections.abc import Iterable

from jaxdoctor.facts.checkpoint import Checkpoint, Leaf
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

FOLDERS = "huggingface"
"""The format in which one model may lie in several files with names of their own."""


@rule("JD359", Severity.WARNING)
def tensor_twice(checkpoint: Checkpoint) -> Hits:
    """Tensors of one model stand in two of its files.

    ## What it saw

    The same name in two files of weights of one folder, such as a `model.safetensors` beside the shards
    that an index names.

    ## Why it matters

    Loaders differ in which of the two they take. Where the values or the dtypes differ, the model that
    runs depends on the program that loads it.

    ## What to do

    Delete the file that belongs to another save, or move it out of the folder.

    ## Example

    ```text
    JD359 warning tensor-twice: 21 tensors stand in two files, and 7 of them with other values
    ```

    ## Sources

    - https://github.com/Blaizzy/mlx-vlm/issues/1464
    """
    if checkpoint.format != FOLDERS:
        return
    by_path: dict[str, list[Leaf]] = {}
    for leaf in checkpoint.leaves:
        by_path.setdefault(leaf.path, []).append(leaf)
    twice = {path: leaves for path, leaves in by_path.items() if len(leaves) > 1}
    if not twice:
        return
    first = next(iter(twice))
    dtypes = sum(len({leaf.dtype for leaf in leaves}) > 1 for leaves in twice.values())
    values = sum(len(_fingerprints(leaves)) > 1 for leaves in twice.values())
    differ = f", {dtypes} of them in other dtypes" if dtypes else ""
    differ = differ or (f", {values} of them with other values" if values else ", with the same values")
    yield Hit(
        location=Location(path=checkpoint.path, leaf=first, step=checkpoint.step),
        message=f"{counted(len(twice), 'tensor stands', 'tensors stand')} in two files{differ}",
        evidence={
            "tensors": len(twice),
            "other_dtypes": dtypes,
            "other_values": values,
            "leaves": list(twice)[:8],
        },
        fix="delete the file that belongs to another save",
    )


def _fingerprints(leaves: Iterable[Leaf]) -> set[object]:
    return {leaf.statistics.fingerprint for leaf in leaves if leaf.statistics is not None}
