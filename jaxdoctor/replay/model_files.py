"""A MuJoCo model into the files of a bundle and out of them: the XML with all that it needs, and compiled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.bundles.bundle import COMPILED, FILES, MOST_BYTES, Bundle, PackedModel
from jaxdoctor.bundles.unpack import unpack
from jaxdoctor.errors import JaxdoctorError, UnreadableError
from jaxdoctor.models.compile import BINARY_SUFFIX, compile_model, warnings_heard
from jaxdoctor.models.scenario import PREFIX, scenario_path

ELSEWHERE = {"nbuffer"}
"""Sizes that depend on where the files lie."""

Packed = tuple[PackedModel, Mapping[str, bytes]]


def pack(model: Any, argument: str | None) -> Packed:
    """The files of a model.

    Files are packed only where the model that they give, in a folder of their own, is this one to the last
    bit: what an environment has changed in Python is then not lost unseen.

    Args:
        model: the compiled `mujoco.MjModel`.
        argument: the file or the scenario that it came from, where it came from one.
    """
    compiled = saved(model)
    files, left_out = _with_all_it_needs(argument)
    if files and left_out is None:
        left_out = _differs(files, model)
    main = None
    if left_out is None:
        main, files = next(iter(files)), {**files, COMPILED: compiled}
    else:
        files = {COMPILED: compiled}
    return PackedModel(mujoco=mujoco.__version__, main=main, left_out=left_out), files


def saved(model: Any) -> bytes:
    """The model as `mujoco.mj_saveModel` writes it."""
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def _with_all_it_needs(argument: str | None) -> tuple[dict[str, bytes], str | None]:
    """Every file of a model by member, the outermost first; and why there are none."""
    if argument is None:
        return {}, "the model was compiled in Python"
    path = _path(argument)
    if path.suffix.lower() == BINARY_SUFFIX:
        return {}, "only a compiled model was given"
    if not hasattr(mujoco, "mju_getXMLDependencies"):
        return {}, f"MuJoCo {mujoco.__version__} does not tell which files a model needs"
    try:
        with warnings_heard():
            found = [Path(name).resolve() for name in mujoco.mju_getXMLDependencies(str(path))]
        outermost = path.resolve()
        needed = [outermost, *sorted(set(found) - {outermost})]
        root = Path(os.path.commonpath([each.parent for each in needed]))
        if sum(each.stat().st_size for each in needed) > MOST_BYTES:
            return {}, f"they are larger than {MOST_BYTES >> 20} MiB"
        return {f"{FILES}{each.relative_to(root).as_posix()}": each.read_bytes() for each in needed}, None
    except (OSError, ValueError, RuntimeError) as error:
        return {}, f"they cannot be collected: {error}"


def _path(argument: str) -> Path:
    if argument.startswith(PREFIX):
        return scenario_path(argument.removeprefix(PREFIX))
    return Path(argument)


def _differs(files: Mapping[str, bytes], model: Any) -> str | None:
    """Why the files do not give the model; None where they do."""
    with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
        try:
            main, *_ = unpack(files, Path(folder))
            again = compile_model(str(main))
        except JaxdoctorError as error:
            return f"they do not compile in a folder of their own: {error}".replace(f"{folder}/", "")
    return None if same(again, model) else "they give another model than the one that failed"


def same(one: Any, other: Any) -> bool:
    """Whether two models, or their options, hold the same numbers and names, but for paths of files."""
    for name in dir(one):
        if name.startswith("_") or "path" in name or name in ELSEWHERE:
            continue
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, np.ndarray):
            if left.shape != right.shape or left.tobytes() != right.tobytes():
                return False
        elif isinstance(left, (int, float, bytes, str)):
            if left != right:
                return False
        elif name in ("opt", "stat") and not same(left, right):
            return False
    return True


def unpacked_model(bundle: Bundle, folder: Path) -> Any:
    """The model in a bundle: from its XML, which any MuJoCo reads, else as it was compiled.

    Raises:
        UnreadableError: it holds none, or one that this MuJoCo does not open.
        UnsupportedModelError: this MuJoCo refuses its XML.
    """
    if bundle.model is None:
        raise UnreadableError(
            f"this bundle of {bundle.subject} holds no model", hint="replay it where its environment is"
        )
    if bundle.model.main is not None:
        return compile_model(str(unpack(bundle.files, folder)[_index(bundle)]))
    path = folder / f"compiled{BINARY_SUFFIX}"
    path.write_bytes(bundle.files[COMPILED])
    try:
        return compile_model(str(path))
    except UnreadableError as error:
        raise UnreadableError(
            f"the model in this bundle opens in MuJoCo {bundle.model.mujoco}, and {mujoco.__version__} is "
            f"here; its XML is not in it: {bundle.model.left_out}",
            hint=f"replay it with --python of an environment that has mujoco=={bundle.model.mujoco}",
        ) from error


def _index(bundle: Bundle) -> int:
    """Which of the files, in their order in the bundle, is the outermost."""
    assert bundle.model is not None
    return [name for name in bundle.files if name.startswith(FILES)].index(bundle.model.main or "")
