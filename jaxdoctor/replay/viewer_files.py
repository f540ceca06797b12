"""Writes what MuJoCo's viewer opens at the failing state: the model's files, and one with a keyframe."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.bundles.bundle import FILES, Bundle
from jaxdoctor.bundles.read import read
from jaxdoctor.bundles.unpack import unpack
from jaxdoctor.errors import JaxdoctorError, UnreadableError, UnsupportedModelError, UsageError
from jaxdoctor.models.compile import compile_model
from jaxdoctor.replay.model_files import unpacked_model
from jaxdoctor.replay.plan import ReplayPlan
from jaxdoctor.workers.progress import Progress

KEYFRAME = "failing"
XML = "failing.xml"
COMPILED = "failing.mjb"

IN_KEYFRAME = {
    "qpos": "qpos",
    "qvel": "qvel",
    "act": "act",
    "mocap_pos": "mpos",
    "mocap_quat": "mquat",
}
"""Leaves of a state, and what MJCF's `<key>` calls them."""


def write_viewer_files(folder: str, plan: ReplayPlan, *, progress: Progress) -> str:
    """Writes into a folder that is empty or not there yet, and returns the file that the viewer opens.

    Raises:
        UsageError: the folder holds something, or cannot be made.
        UnreadableError, UnsupportedModelError: the bundle holds no model that can be shown.
    """
    progress.stage("writing the viewer's files")
    bundle, home = read(Path(plan.bundle)), Path(folder)
    values = _values(bundle)
    try:
        home.mkdir(parents=True, exist_ok=True)
        if any(home.iterdir()):
            raise UsageError(f"{home} is not empty", hint="name a folder that is not there yet")
    except OSError as error:
        raise UsageError(f"{home} cannot be used: {error.strerror}", hint="name another folder") from error
    if bundle.model is None or bundle.model.main is None:
        return str(_compiled(bundle, values, home))
    unpack(bundle.files, home)
    main = home / bundle.model.main.removeprefix(FILES)
    return str(_beside(main, values))


def _values(bundle: Bundle) -> dict[str, Any]:
    """The state before the step that failed, and its control, by the attributes of a keyframe.

    Raises:
        UnsupportedModelError: the bundle has no positions.
    """
    if "qpos" not in bundle.state:
        raise UnsupportedModelError(
            f"the bundle of {bundle.subject} has no qpos that a viewer could show",
            hint="replay it without --to-xml",
        )
    found = {name: bundle.state[leaf][-1] for leaf, name in IN_KEYFRAME.items() if leaf in bundle.state}
    found["ctrl"] = bundle.control[-1]
    return {name: np.asarray(each, float).ravel() for name, each in found.items() if np.size(each)}


def _beside(main: Path, values: dict[str, Any]) -> Path:
    """A file beside the outermost XML that includes it and has the keyframe; nothing in the XML is changed.

    Raises:
        UnsupportedModelError: MuJoCo takes neither that nor a copy with a keyframe.
    """
    path = main.with_name(XML)
    words = {name: " ".join(repr(float(number)) for number in each) for name, each in values.items()}
    numbers = " ".join(f'{name}="{each}"' for name, each in words.items())
    path.write_text(
        f'<mujoco>\n  <include file="{_escaped(main.name)}"/>\n'
        f'  <keyframe>\n    <key name="{KEYFRAME}" {numbers}/>\n  </keyframe>\n</mujoco>\n'
    )
    try:
        compile_model(str(path))
    except JaxdoctorError:
        # What is no <mujoco>, such as a URDF, cannot be included.
        path.write_text(_with_key(main, values))
        compile_model(str(path))
    return path


def _escaped(name: str) -> str:
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _with_key(main: Path, values: dict[str, Any]) -> str:
    spec = mujoco.MjSpec.from_file(str(main))
    spec.add_key(name=KEYFRAME, **values)
    spec.compile()
    text: str = spec.to_xml()
    return text


def _compiled(bundle: Bundle, values: dict[str, Any], home: Path) -> Path:
    """A compiled model whose first keyframe is the failing state: MJB cannot get a further one.

    Raises:
        UnsupportedModelError: it has no keyframe.
    """
    with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
        model = unpacked_model(bundle, Path(folder))
    if not model.nkey:
        raise UnsupportedModelError(
            f"the bundle of {bundle.subject} holds a compiled model without a keyframe, to which none can be "
            f"added; its XML is not in it: {bundle.model.left_out if bundle.model else 'there is no model'}",
            hint="probe the XML instead of what was compiled from it, or give the model a keyframe",
        )
    fields = {"qpos": model.key_qpos, "qvel": model.key_qvel, "act": model.key_act, "ctrl": model.key_ctrl,
              "mpos": model.key_mpos, "mquat": model.key_mquat}  # fmt: skip
    for name, each in values.items():
        if fields[name][0].shape != each.shape:
            raise UnreadableError(
                f"{name} was recorded with {each.size} numbers, and the model has {fields[name][0].size}",
                hint="write the bundle again",
            )
        fields[name][0] = each
    path = home / COMPILED
    mujoco.mj_saveModel(model, str(path))
    return path
