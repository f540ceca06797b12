"""A model that fails whatever the precision, and a bundle of it that was written by hand."""

import mujoco
import numpy as np

from jaxdoctor.bundles.bundle import Bundle, Failure
from jaxdoctor.bundles.write import write
from jaxdoctor.replay.model_files import pack
from tests.mjcf import arm, mjcf

RUNAWAY = mjcf(arm(1, joint='damping="-2"'), options='<option><flag eulerdamp="disable"/></option>')
"""A joint whose damping speeds it up: C passes its limit of 1e10 at step 27, float32 its own at step 44."""


def runaway(folder):
    """The model's file."""
    path = folder / "runaway.xml"
    path.write_text(RUNAWAY)
    return path


def by_hand(folder, *, system="mjx", first=20, last=27, **changes):
    """C's own rollout of it as a bundle, steps `first` to `last`."""
    path = runaway(folder)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    data.qvel[:] = 0.1
    rows = {"qpos": [], "qvel": [], "act": [], "qacc_warmstart": []}
    for step in range(last + 1):
        for name, kept in rows.items():
            if step >= first:
                kept.append(getattr(data, name).copy())
        mujoco.mj_step(model, data)
    packed, files = pack(mujoco.MjModel.from_xml_path(str(path)), str(path))
    fields = {
        "written_by": "probe",
        "subject": str(path),
        "system": system,
        "failure": Failure(step=last, field="qacc", fields=("qacc",), precision="f64", batch=4),
        "first_step": first,
        "state": {name: np.stack(kept) for name, kept in rows.items()},
        "control": np.zeros((last - first + 1, 0)),
        "model": packed,
        "files": files,
    }
    target = folder / "runaway.zip"
    write(target, Bundle(**{**fields, **changes}))
    return target
