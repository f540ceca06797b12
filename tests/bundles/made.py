"""A small bundle to write, with everything in it."""

import numpy as np

from jaxdoctor.bundles.bundle import COMPILED, FILES, Bundle, Failure, PackedArray, PackedModel, PackedPolicy

XML = b'<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'


POLICY = PackedPolicy(
    kind="brax-params",
    name="params.pkl (Brax PPO)",
    config={"agent": "ppo", "network_factory_kwargs": {"activation": "swish"}},
    arrays={
        ("1", "params", "hidden_0", "kernel"): PackedArray(
            dtype="float32", shape=(2, 1), content=np.array([1.5, np.nan], "<f4").tobytes()
        ),
        ("1", "params", "hidden_0", "bias"): PackedArray(dtype="bfloat16", shape=(1,), content=b"\x80\x3f"),
        ("0", "count"): PackedArray(dtype="uint64", shape=(), content=bytes(8)),
    },
)


def a_bundle(**changes):
    """Three steps of one hinge, the last of which fails."""
    fields = {
        "written_by": "probe",
        "subject": "robot.xml",
        "system": "mjx",
        "failure": Failure(
            step=9, field="qacc", fields=("qacc", "qvel"), precision="tf32", emulated=True, bits=10,
            batch=16, lanes=4, replay=3,
        ),
        "first_step": 7,
        "state": {"qpos": np.arange(3, dtype="f4")[:, None], "info.key": np.ones((3, 2), "u4")},
        "control": np.zeros((3, 1), "f4"),
        "keys": ("info.key",),
        "model": PackedModel(mujoco="4.0.0", main=f"{FILES}robot.xml"),
        "files": {f"{FILES}robot.xml": XML, COMPILED: b"compiled"},
        "policy": POLICY,
        "versions": {"jax": "0.10.2", "brax": None},
        "settings": {"JAX_DEFAULT_MATMUL_PRECISION": "high"},
        "environment": {"platform": "Linux", "x64": False, "fp64_ratio": float("nan")},
    }  # fmt: skip
    return Bundle(**{**fields, **changes})
