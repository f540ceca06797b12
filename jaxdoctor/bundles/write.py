"""Writes a bundle, with nothing but the standard library and NumPy: it also runs beside a training."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jaxdoctor import __version__
from jaxdoctor.bundles.bundle import (
    COMPILED,
    CONTROL,
    FILES,
    MANIFEST,
    MOST_BYTES,
    MOST_INFLATED,
    POLICY,
    Bundle,
    PackedArray,
    manifest_of,
)
from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.storage.elements import LETTERS, WIDTHS

PLAIN = "biufc"
"""NumPy's kinds of numbers. Others, such as bfloat16, are stored as float32, which holds them exactly."""


TOO_LARGE = f"with them it is more than {MOST_BYTES >> 20} MiB"
POLICY_TOO_LARGE = f"with its arrays the bundle is more than {MOST_BYTES >> 20} MiB"
"""Why something is left out."""


class TooLargeError(NothingExaminedError):
    """A bundle would be larger than one may be."""


def write(path: Path, bundle: Bundle) -> Bundle:
    """Writes the file, in the place of one that is there, and returns what is in it.

    One that is too large goes without the arrays of its policy, and a model without the files of its XML.

    Raises:
        TooLargeError: without those it is more than 50 MiB, too.
        UsageError: the file cannot be written.
    """
    bundle = replace(bundle, tool=__version__, written_at=datetime.now(UTC).isoformat(timespec="seconds"))
    content = _packed(bundle)
    if content is None and bundle.policy is not None and bundle.policy.arrays:
        bundle = replace(bundle, policy=replace(bundle.policy, arrays={}, left_out=POLICY_TOO_LARGE))
        content = _packed(bundle)
    if content is None and _can_do_without_files(bundle):
        bundle = _without_files(bundle)
        content = _packed(bundle)
    if content is None:
        sizes = {name: len(each) for name, each in bundle.files.items()}
        largest = max(sizes, key=lambda name: sizes[name], default="its arrays")
        raise TooLargeError(
            f"a bundle of {bundle.subject} is larger than {MOST_BYTES >> 20} MiB, most of it {largest}",
            hint="take large textures and meshes out of the model that is probed: they are no physics",
        )
    _put(path, content)
    return bundle


def _can_do_without_files(bundle: Bundle) -> bool:
    return bundle.model is not None and bundle.model.main is not None and COMPILED in bundle.files


def _without_files(bundle: Bundle) -> Bundle:
    assert bundle.model is not None
    return replace(
        bundle,
        model=replace(bundle.model, main=None, left_out=TOO_LARGE),
        files={name: each for name, each in bundle.files.items() if not name.startswith(FILES)},
    )


def _packed(bundle: Bundle) -> bytes | None:
    """The whole file; None where that is too large."""
    state = {leaf: f"state/{number}.npy" for number, leaf in enumerate(bundle.state)}
    start = {leaf: f"start/{number}.npy" for number, leaf in enumerate(bundle.start)}
    members = {member: _array(bundle.state[leaf]) for leaf, member in state.items()}
    members |= {member: _array(bundle.start[leaf]) for leaf, member in start.items()}
    arrays = {} if bundle.policy is None else bundle.policy.arrays
    policy = {keys: f"{POLICY}{number}.npy" for number, keys in enumerate(arrays)}
    members |= {member: _array(_plain_numbers(arrays[keys])) for keys, member in policy.items()}
    members |= {CONTROL: _array(bundle.control), **bundle.files}
    if sum(map(len, members.values())) > MOST_INFLATED:
        return None
    parts = {
        name: {"size": len(each), "sha256": hashlib.sha256(each).hexdigest()}
        for name, each in members.items()
    }
    manifest = json.dumps(
        _plain(manifest_of(bundle, state, start, policy, parts)), indent=1, ensure_ascii=False
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, manifest)
        for name, each in members.items():
            archive.writestr(name, each)
    content = packed.getvalue()
    return content if len(content) <= MOST_BYTES else None


def _plain_numbers(array: PackedArray) -> Any:
    """Types that NumPy does not know as the unsigned integers of their bits."""
    import numpy as np

    kind = array.dtype if array.dtype in LETTERS.values() else f"uint{8 * WIDTHS[array.dtype]}"
    return np.frombuffer(array.content, np.dtype(kind).newbyteorder("<")).reshape(array.shape)


def _array(values: Any) -> bytes:
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind not in PLAIN:
        array = array.astype(np.float32)
    stored = io.BytesIO()
    plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    np.save(stored, plain, allow_pickle=False)
    return stored.getvalue()


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become words."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _put(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", hint="name a file in a folder that is there"
        ) from error
