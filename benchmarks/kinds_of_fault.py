"""Which damage `scan-checkpoint` sees in each format: a small whole save a reader, damaged in every way.

`python benchmarks/kinds_of_fault.py` prints the table, `--write` puts it into docs/figures.md. Each file of a
save, or each member of its zip, is taken away and cut in half (*half*), and emptied and filled with zeros
(*empty*), one at a time. What a scan says of it as a warning or an error counts as seen. *Counter* and
*series* say whether the reader gives a count that the rules of counters judge, and whether two saves that are
the same are judged as one run.
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.finding import Severity

warnings.simplefilter("ignore")

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
FIGURES = ROOT / "docs" / "figures.md"
BEGIN, END = "<!-- kinds of fault -->\n", "<!-- end of kinds of fault -->\n"


def tree() -> dict[str, Any]:
    """A training state small enough for thousands of scans."""
    noise = np.random.default_rng(0)
    kernel = noise.standard_normal((16, 8)).astype(np.float32)
    return {"params": {"dense": {"kernel": kernel, "bias": np.full(8, 0.1, np.float32)}}, "step": np.int32(7)}


def flat() -> dict[str, np.ndarray]:
    """The same under names."""
    state = tree()
    dense = {f"params/dense/{name}": value for name, value in state["params"]["dense"].items()}
    return {**dense, "step": np.asarray(state["step"])}


def orbax(path: Path) -> None:
    """By Orbax's own writer."""
    import orbax.checkpoint as ocp

    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(path, tree())


def flax_nnx(path: Path) -> None:
    """The state of a module, as Orbax stores it."""
    import orbax.checkpoint as ocp
    from flax import nnx

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, {"model": nnx.state(nnx.Linear(4, 3, rngs=nnx.Rngs(0)))})


def maxtext(path: Path) -> None:
    """One step with the item `items` in zarr 3, and Grain's iterator beside it."""
    import orbax.checkpoint as ocp

    handlers = {"items": ocp.PyTreeCheckpointHandler(use_ocdbt=True, use_zarr3=True)}
    with ocp.CheckpointManager(path.parent / "manager", item_handlers=handlers) as manager:
        manager.save(7, args=ocp.args.Composite(items=ocp.args.PyTreeSave(tree())))
        manager.wait_until_finished()
    shutil.move(path.parent / "manager" / "7", path)
    shutil.rmtree(path.parent / "manager")
    (path / "iter").mkdir()
    (path / "iter" / "process_0-of-1.json").write_text('{"next_index": 7}')


def brax(path: Path) -> None:
    """A policy that Brax 0.13 saved."""
    with zipfile.ZipFile(FIXTURES / "brax_0_13_0.zip") as archive:
        archive.extractall(path.parent / "brax")
    shutil.move(path.parent / "brax" / "000000002048", path)
    shutil.rmtree(path.parent / "brax")


def flax_msgpack(path: Path) -> None:
    """By Flax."""
    from flax import serialization

    path.write_bytes(serialization.msgpack_serialize(tree()))


def haiku(path: Path) -> None:
    """By the recipe of Haiku: arrays in a row, and the tree beside."""
    path.mkdir()
    with (path / "arrays.npy").open("wb") as file:
        for value in flat().values():
            np.save(file, value)
    names = {"mlp/~/linear_0": {"w": 0, "b": 0}, "state": {"step": 0}}
    (path / "tree.pkl").write_bytes(pickle.dumps(names))


def equinox(path: Path) -> None:
    """By Equinox."""
    import equinox as eqx
    import jax

    eqx.tree_serialise_leaves(path, eqx.nn.MLP(3, 2, 8, 2, key=jax.random.key(0)))


def t5x(path: Path) -> None:
    """As T5X's Checkpointer lays it out."""
    import tensorstore
    from flax import serialization

    path.mkdir()
    stored = tree()["params"]["dense"]["kernel"]
    metadata = {"chunks": [16, 8], "compressor": {"id": "gzip"}, "shape": [16, 8]}
    spec = {"driver": "zarr", "dtype": "float32", "metadata": metadata}
    place = {"driver": "file", "path": str(path / "target.w")}
    tensorstore.open({**spec, "kvstore": place, "create": True}).result().write(stored).result()
    target = {"w": {**spec, "kvstore": {"driver": "file", "path": "target.w"}}}
    optimizer = {"state": {"step": np.int32(7)}, "target": target}
    (path / "checkpoint").write_bytes(serialization.msgpack_serialize({"version": 3, "optimizer": optimizer}))


def hdf5(path: Path) -> None:
    """By h5py."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, value in flat().items():
            file[name] = value


def keras(path: Path) -> None:
    """As Keras 3 lays it out."""
    hdf5(path.with_suffix(".h5"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.8.0"}))
        archive.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": []}}))
        archive.write(path.with_suffix(".h5"), "model.weights.h5")
    path.with_suffix(".h5").unlink()


def megatron(path: Path) -> None:
    """Two tensor ranks, as Megatron-LM names them."""
    for rank in range(2):
        folder = path / f"mp_rank_{rank:02d}"
        folder.mkdir(parents=True)
        state = {"iteration": 7, "model": flat(), "args": None}
        (folder / "model_optim_rng.pt").write_bytes(pickle.dumps(state))


def safetensors(path: Path) -> None:
    """By safetensors."""
    from safetensors.numpy import save_file

    save_file(flat(), path)


def pickled(path: Path) -> None:
    """By pickle."""
    path.write_bytes(pickle.dumps(tree()))


def copied(*names: str) -> Callable[[Path], None]:
    """A fixture that the library wrote: `tests/fixtures/make_*.py`."""

    def copy(path: Path) -> None:
        source = FIXTURES.joinpath(*names)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, path)

    return copy


STEPS = {"deepspeed": 10, "huggingface": 4, "stable-baselines3": 16, "brax": 2048, "torch-distributed": 5}
"""The step within what a library wrote; 7 in what is written here."""

SAVES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "brax": ("{:012d}", brax),
    "deepspeed": ("global_step{}", copied("torch", "deepspeed", "global_step10")),
    "equinox": ("step_{}.eqx", equinox),
    "flax-msgpack": ("step_{}.msgpack", flax_msgpack),
    "flax-nnx": ("{}", flax_nnx),
    "haiku": ("step_{}", haiku),
    "hdf5": ("step_{}.h5", hdf5),
    "huggingface": ("checkpoint-{}", copied("huggingface", "checkpoint-4")),
    "keras": ("step_{}.keras", keras),
    "maxtext": ("{}", maxtext),
    "megatron": ("iter_{:07d}", megatron),
    "npy": ("step_{}.npy", lambda path: np.save(path, flat()["params/dense/kernel"])),
    "npz": ("step_{}.npz", lambda path: np.savez(path, **flat())),  # type: ignore[arg-type]
    "orbax": ("{}", orbax),
    "pickle": ("step_{}.pkl", pickled),
    "safetensors": ("step_{}.safetensors", safetensors),
    "stable-baselines3": ("rl_model_{}_steps.zip", copied("stable_baselines3.zip")),
    "t5x": ("checkpoint_{}", t5x),
    "tensorflow": ("step_{}", copied("tensorflow")),
    "torch": ("step_{}.pt", copied("torch", "zip.pt")),
    "torch-distributed": ("step_{}", copied("torch", "distributed")),
    "verl": ("global_step_{}", copied("torch", "fsdp_ranks")),
}
"""What the saves of a run are called, and what writes one, by reader."""


def seen(path: Path) -> bool:
    """Whether a scan says that something is wrong, or that there is nothing left to judge."""
    try:
        report = scan([path], Options())
    except JaxdoctorError:
        return True
    return any(finding.severity > Severity.NOTE for finding in report.findings)


def parts(save: Path) -> list[str]:
    """The files of a save, or the members of its zip."""
    if save.is_dir():
        return sorted(str(path.relative_to(save)) for path in save.rglob("*") if path.is_file())
    if zipfile.is_zipfile(save):
        with zipfile.ZipFile(save) as archive:
            return archive.namelist()
    return [save.name]


def damaged(save: Path, part: str, change: Callable[[bytes], bytes | None]) -> bool:
    """Changes one part of a save in place; False where nothing would be left, or nothing was changed."""
    if not save.is_dir() and zipfile.is_zipfile(save) and part != save.name:
        with zipfile.ZipFile(save) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        new = change(content[part])
        if new == content[part]:
            return False
        with zipfile.ZipFile(save, "w") as archive:
            for name, old in content.items():
                if name != part or new is not None:
                    archive.writestr(name, (new or b"") if name == part else old)
        return True
    path = save / part if save.is_dir() else save
    before = path.read_bytes()
    new = change(before)
    if new == before or (new is None and path == save):
        return False
    path.unlink()
    if new is not None:
        path.write_bytes(new)
    return True


WAYS: dict[str, tuple[Callable[[bytes], bytes | None], ...]] = {
    "half": (lambda _: None, lambda old: old[: len(old) // 2]),
    "empty": (lambda _: b"", lambda old: bytes(len(old))),
}


def row(name: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The cells of one reader, each with the damage that went unseen."""
    form, write = SAVES[name]
    whole = folder / form.format(STEPS.get(name, 7))
    write(whole)
    report = scan([whole], Options())
    (saved,) = report.checkpoints
    if saved.format != name:
        raise SystemExit(f"the save of {name} was read as {saved.format}")
    yield ("loud" if seen(whole) else "silent"), []
    for ways in WAYS.values():
        tried, missed = 0, []
        for part in parts(whole) + ([whole.name] if not whole.is_dir() and zipfile.is_zipfile(whole) else []):
            for number, change in enumerate(ways):
                place = folder / "damaged" / whole.name
                (shutil.copytree if whole.is_dir() else shutil.copy)(whole, _fresh(place))
                if damaged(place, part, change):
                    tried += 1
                    missed += [] if seen(place) else [f"{part} ({number})"]
        yield f"{tried - len(missed)} of {tried}", missed
    yield ("yes" if saved.counters else "no"), []
    run = folder / "run"
    for step in (1000, 2000):
        target = run / form.format(step)
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, _fresh(target, keep=True))
    yield ("yes" if scan([run], Options()).series else "no"), []


def _fresh(place: Path, *, keep: bool = False) -> Path:
    if not keep:
        shutil.rmtree(place.parent, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def main() -> None:
    """Prints the table and what went unseen, and writes the table where it is asked to."""
    lines = ["| reader | whole | half | empty | counter | series |", "|---|---|---|---|---|---|"]
    for name in SAVES:
        with tempfile.TemporaryDirectory() as folder:
            cells = list(row(name, Path(folder)))
        lines.append(f"| {name} | {' | '.join(cell for cell, _ in cells)} |")
        print(lines[-1], "unseen:", [one for _, missed in cells for one in missed], flush=True)
    table = "\n".join(lines) + "\n"
    if "--write" in sys.argv[1:]:
        before, _, rest = FIGURES.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        FIGURES.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    print(table)


if __name__ == "__main__":
    main()
