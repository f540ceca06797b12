"""Control sequences: band-limited random ones, and those of a file."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.errors import UnreadableError, UsageError

Floats = npt.NDArray[np.float64]

BAND_SECONDS = 0.1
"""Random controls turn no faster than this: a tenth of a second from one target to the next."""

UNLIMITED_TARGET = 0.5
"""How far a position actuator without a control range is sent, in radians or metres."""

UNLIMITED_FORCE = 1.0
"""The amplitude of any other actuator without a control range."""


@dataclass(frozen=True, kw_only=True)
class Controls:
    """What a file of controls gave: one sequence, or one for each replay."""

    origin: str
    ctrl: Floats
    """sequences x steps x nu."""

    qpos: Floats | None = None
    """sequences x nq: start states, where the file has them."""

    qvel: Floats | None = None

    def take(self, replays: int, steps: int | None) -> Floats:
        """So many replays, the file's sequences in turn, cut to `steps`.

        Raises:
            UsageError: the file has fewer steps.
        """
        held = self.ctrl.shape[1]
        if steps is not None and steps > held:
            raise UsageError(
                f"{self.origin} has {held} steps of controls and {steps} were asked for",
                hint=f"leave --steps away, or say --steps {held}",
            )
        return self.taken(self.ctrl[:, :steps], replays)

    def taken(self, values: Floats, replays: int) -> Floats:
        """The file's sequences in turn, until there is one for each replay."""
        return values[np.arange(replays) % len(values)]


def random_controls(
    model: Any, replays: int, steps: int, generator: np.random.Generator, *, qpos: Floats
) -> Floats:
    """Smooth random controls within each actuator's range, replays x steps x nu.

    A target is drawn every `BAND_SECONDS` and the control moves from one to the next along half a cosine.

    Args:
        model: an `mujoco.MjModel`, or what has its fields.
        replays: how many.
        steps: how many.
        generator: of the targets.
        qpos: the pose in which replays start; servos without a range stay near it.
    """
    centre, reach = _amplitudes(model, qpos)
    every = max(1, round(BAND_SECONDS / model.opt.timestep))
    targets = generator.uniform(-1, 1, (replays, steps // every + 2, model.nu))
    at, within = np.divmod(np.arange(steps), every)
    blend = (0.5 - 0.5 * np.cos(np.pi * within / every))[None, :, None]
    smooth = (1 - blend) * targets[:, at] + blend * targets[:, at + 1]
    return np.asarray(centre + reach * smooth, np.float64)


def _amplitudes(model: Any, qpos: Floats) -> tuple[Floats, Floats]:
    """The middle and half the width of every actuator's controls."""
    limited = model.actuator_ctrllimited.astype(bool)
    low, high = model.actuator_ctrlrange.T
    rest = model.key_ctrl[0] if model.nkey else np.zeros(model.nu)
    at_rest = np.zeros(model.nu) + rest
    reach = np.full(model.nu, UNLIMITED_FORCE)
    for actuator in np.flatnonzero(~limited):
        if model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE:
            at_rest[actuator], reach[actuator] = _servo(model, int(actuator), at_rest[actuator], qpos)
    return np.where(limited, (low + high) / 2, at_rest), np.where(limited, (high - low) / 2, reach)


def _servo(model: Any, actuator: int, rest: float, qpos: Floats) -> tuple[float, float]:
    """Around where its joint stands, or over its joint's range; a velocity servo around rest."""
    joint = model.actuator_trnid[actuator, 0]
    on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
    if not on_joint or not model.actuator_biasprm[actuator, 1]:
        return rest, UNLIMITED_TARGET
    if model.jnt_limited[joint]:
        low, high = model.jnt_range[joint]
        return (low + high) / 2, (high - low) / 2
    return float(qpos[model.jnt_qposadr[joint]]), UNLIMITED_TARGET


def read_controls(path: Path, model: Any) -> Controls:
    """The controls of a `.npy`, `.npz` or `.csv` file, checked against the model.

    Raises:
        UnreadableError: it is not such a file.
        UsageError: its shapes are not the model's, or a value is not finite.
    """
    arrays = _arrays(path)
    origin = str(path)
    unknown = sorted(set(arrays) - {"ctrl", "qpos", "qvel"})
    if "ctrl" not in arrays:
        raise UsageError(
            f"{path} holds no array named ctrl, only {', '.join(unknown) or 'nothing'}",
            hint="numpy.savez(path, ctrl=..., qpos=..., qvel=...); qpos and qvel are optional",
        )
    for name, array in arrays.items():
        _check_finite(origin, name, array)
    ctrl = _shaped(origin, "ctrl", arrays["ctrl"], (-1, model.nu))
    qpos, qvel = (
        _shaped(origin, name, arrays[name], (size,)) if name in arrays else None
        for name, size in (("qpos", model.nq), ("qvel", model.nv))
    )
    return Controls(origin=origin, ctrl=ctrl, qpos=qpos, qvel=qvel)


def read_actions(path: Path, size: int, name: str) -> Controls:
    """The actions of a `.npy`, `.npz` or `.csv` file, as `--controls record:FILE.npz` keeps them.

    Args:
        path: the file.
        size: the numbers of an action.
        name: of the environment that is given them.

    Raises:
        UnreadableError: it is not such a file.
        UsageError: an action has another size, or a value is not finite.
    """
    arrays = _arrays(path, (ACTION,))
    if ACTION not in arrays:
        raise UsageError(
            f"{path} holds no array named {ACTION}",
            hint=f"numpy.savez(path, {ACTION}=...), or --controls record:FILE.npz with a policy",
        )
    _check_finite(str(path), ACTION, arrays[ACTION])
    actions = _shaped(str(path), ACTION, arrays[ACTION], (-1, size), of=name)
    return Controls(origin=str(path), ctrl=actions)


ACTION, CTRL = "action", "ctrl"
"""The arrays with what drives: an environment, and a model."""


def _arrays(path: Path, names: tuple[str, ...] = (CTRL, "qpos", "qvel")) -> dict[str, npt.NDArray[Any]]:
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            return {names[0]: _csv(path)}
        if suffix == ".npy":
            return {names[0]: np.load(path, allow_pickle=False)}
        if suffix == ".npz":
            # NumPy leaves a file that it opened itself open when it is no zip.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files if name in names}
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist", hint="name a .npy, .npz or .csv file") from None
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise UnreadableError(
            f"{path} cannot be read as controls: {error}",
            hint="write it with numpy.save, numpy.savez or as numbers between commas, one step a line",
        ) from error
    raise UsageError(f"controls are not read from {suffix or 'files without a suffix'}",
                     hint="give a .npy, .npz or .csv file")  # fmt: skip


def _csv(path: Path) -> Floats:
    """Numbers between commas; one line of names above them is allowed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise ValueError("it is empty")
    try:
        [float(cell) for cell in lines[0].split(",")]
        skipped = 0
    except ValueError:
        skipped = 1
    return np.loadtxt(lines[skipped:], delimiter=",", ndmin=2)


def _check_finite(origin: str, name: str, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} in {origin} has dtype {array.dtype}", hint="give real numbers")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = ", ".join(str(index) for index in bad[0])
        raise UsageError(
            f"{name}[{where}] in {origin} is {array[tuple(bad[0])]}; {len(bad)} values are not finite",
            hint="a replay of NaN says nothing about the model: mend the controls, or cut them off before it",
        )


def _shaped(
    origin: str, name: str, array: npt.NDArray[Any], row: tuple[int, ...], of: str = "this model"
) -> Floats:
    """The array with a leading axis of sequences."""
    rank = len(row)
    fits = array.ndim in (rank, rank + 1) and array.shape[-1] == row[-1] and array.size >= bool(row[-1])
    if not fits or 0 in array.shape[:-1]:
        wanted = f"steps x {row[-1]}" if rank > 1 else str(row[-1])
        raise UsageError(
            f"{name} in {origin} has the shape {'x'.join(map(str, array.shape)) or 'of one number'}",
            hint=f"{of} wants {wanted}, or replays x {wanted}",
        )
    values = np.asarray(array, np.float64)
    return values if values.ndim > rank else values[None]
