"""Reports to write: one with everything in it, an empty one, a hostile one and a huge one."""

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.delivery import Arithmetic, Delivery
from jaxdoctor.facts.environment import Accelerator, Environment
from jaxdoctor.facts.finding import Finding, Ignored, Location, Severity, Skipped
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.precision import BF16, F32, F64, TF32, TF32_TRUNCATED, precision_named
from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.signature import LeafSignature, Signature
from jaxdoctor.facts.trial import Kind, Trial
from tests.attributions import CONVEX, MAKE_M, around, attribution, need

ENVIRONMENT = Environment(
    accelerator=Accelerator(
        name="NVIDIA GeForce RTX 4090",
        platform="gpu",
        card="rtx-4090",
        compute_capability="8.9",
        market="GeForce",
        memory_bytes=24 * 2**30,
        fp64_ratio=1 / 64,
        tf32=True,
        ecc=False,
        driver="560.35.03",
    ),
    cpu_cores=16,
    platform="Linux-x86_64",
    versions={
        "python": "3.11.9",
        "jax": "0.10.2",
        "jaxlib": "0.10.2",
        "mujoco": "4.0.0",
        "mujoco-mjx": "3.17.0",
        "brax": None,
    },
    settings={"JAX_DEFAULT_MATMUL_PRECISION": "high"},
    xla_flags={"xla_gpu_enable_fast_min_max": "true"},
)


def delivery(setting, arithmetic, bits, error, milliseconds, *, op="mass matrix", shape="64x64 @ 64x64"):
    return Delivery(
        setting=setting,
        op=op,
        shape=shape,
        batched=False,
        side="left",
        arithmetic=arithmetic,
        mantissa_bits=bits,
        max_relative_error=error,
        milliseconds=milliseconds,
    )


DELIVERIES = (
    delivery("default", Arithmetic.TF32_ROUNDED, 10, 2.9e-4, 0.012),
    delivery("default", Arithmetic.F32, 23, 1.1e-7, 0.03, op="policy layer", shape="1x256 @ 256x256"),
    delivery("high", Arithmetic.TF32_ROUNDED, 10, 2.9e-4, 0.012),
    delivery("highest", Arithmetic.F32, 23, 1.1e-7, 0.031),
    delivery("x64", Arithmetic.F64, 52, 2.2e-16, 0.81),
)


def trial(precision, kind, failed, **rest):
    return Trial(
        source="models/hand.xml", precision=precision, kind=kind, replays=64, steps=200, failed=failed, **rest
    )


TRIALS = (
    trial(TF32, Kind.NATIVE, 61, first_bad_step=12, first_bad_field="qLD", horizon=9.0, shadow_horizon=84.0,
          one_step_error=3.1e-3, seconds_per_step=2.0e-6, compile_seconds=31.0, peak_bytes=900 * 2**20),
    trial(F32, Kind.NATIVE, 0, horizon=81.0, shadow_horizon=84.0, one_step_error=2.0e-7,
          seconds_per_step=4.2e-6, compile_seconds=33.0, peak_bytes=900 * 2**20),
    trial(F64, Kind.NATIVE, 0, seconds_per_step=6.6e-5, compile_seconds=40.0, peak_bytes=1800 * 2**20),
    trial(TF32_TRUNCATED, Kind.EMULATED, 64, first_bad_step=3, first_bad_field="qLD", horizon=2.0,
          shadow_horizon=84.0, one_step_error=6.0e-3),
    trial(BF16, Kind.EMULATED, 64, first_bad_step=1, first_bad_field="qLD", horizon=1.0, shadow_horizon=84.0,
          one_step_error=2.5e-2),
    *(
        trial(precision_named(str(bits)), Kind.EMULATED, failed, first_bad_step=first,
              first_bad_field=None if first is None else "qacc", horizon=3.0 + 3 * bits, shadow_horizon=84.0,
              one_step_error=2.0**-bits)
        for bits, failed, first in (
            (8, 64, 1), (9, 64, 5), (11, 40, 22), (12, 17, 55), (13, 2, 140), (14, 0, None), (17, 0, None),
            (20, 0, None),
        )
    ),
)  # fmt: skip

HAND = Outcome(
    subject="models/hand.xml",
    trials=TRIALS,
    verdict=Verdict.PRECISION,
    required_bits=14,
    delivered_bits=10,
    delivered_by="rtx-4090",
    attribution=attribution(need(), around=around()),
    error_attribution=attribution(need(CONVEX, bits=None, explicit=True), bound=1e-5, unique=False),
)

WALKER = Outcome(
    subject="models/walker.xml",
    trials=(),
    verdict=Verdict.HEALTHY,
    required_bits=5,
    delivered_bits=10,
    delivered_by="rtx-4090",
)

FINDINGS = (
    Finding(
        code="JD101",
        name="tf32-by-default",
        severity=Severity.NOTE,
        location=Location(path="NVIDIA GeForce RTX 4090"),
        message="64x64 @ 64x64 gets 10 of 23 mantissa bits by default (tf32-rounded)",
        evidence={"mantissa_bits": 10, "shape": "64x64 @ 64x64"},
    ),
    Finding(
        code="JD201",
        name="nonfinite-at-delivered-precision",
        severity=Severity.ERROR,
        location=Location(path="models/hand.xml", step=12),
        message="61 of 64 replays are not finite at tf32, none at f32; qLD is the first field",
        evidence={"failed": 61, "replays": 64},
        fix="set jax_default_matmul_precision to highest",
    ),
    Finding(
        code="JD301",
        name="nonfinite-values",
        severity=Severity.ERROR,
        location=Location(path="run/000300", leaf="params/actor/kernel"),
        message="2 of 256 values are not finite",
        evidence={"nonfinite": 2, "size": 256, "worst": float("nan")},
        fix="restore step 200",
    ),
    Finding(
        code="JD302",
        name="counter-near-limit",
        severity=Severity.WARNING,
        location=Location(path="run/000300", leaf="env_steps"),
        message="2,040,109,465 is 95 % of what int32 holds",
        evidence={"value": 2040109465, "limit": 2147483647},
        fix="count in two int32 or in int64",
    ),
)


def checkpoint(step, env_steps):
    return Checkpoint(
        path=f"run/{step:06}",
        format="orbax",
        step=step,
        leaves=(
            Leaf(path="params/actor/kernel", dtype="float32", shape=(16, 16), role=Role.PARAMETER),
            Leaf(path="opt_state/0/mu/actor/kernel", dtype="bfloat16", shape=(16, 16), role=Role.OPTIMIZER),
            Leaf(path="opt_state/0/count", dtype="int32", shape=(), role=Role.COUNTER, value=step * 4),
            Leaf(path="env_steps", dtype="int32", shape=(), role=Role.COUNTER, value=env_steps),
            Leaf(
                path="normalizer/count",
                dtype="float32",
                shape=(),
                role=Role.COUNTER,
                value=min(2.0**24, step * 1e5),
            ),
        ),
        bytes_total=3_000_000,
        bytes_read=41_000,
    )


CHECKPOINTS = (checkpoint(100, 680036488), checkpoint(200, 1360072976), checkpoint(300, 2040109465))

PRESCRIPTION = Prescription(
    settings=(
        Setting(
            means=Means.JAX,
            key="jax_default_matmul_precision",
            value="highest",
            because=("JD201",),
            reason="products lose bits that the mass matrix needs",
            price="2.1 x the time per step, measured on NVIDIA GeForce RTX 4090",
        ),
        Setting(
            means=Means.XLA,
            key="xla_gpu_enable_fast_min_max",
            value=False,
            because=("JD107",),
            reason="fast min and max drop NaN instead of passing it on",
        ),
    ),
    reach=("MuJoCo Warp ignores these settings: it computes its physics itself",),
    instead=(
        f"raise only {MAKE_M} from 13 bits on: 10.0% of the operations of all products; tried: finite",
        'step = jaxdoctor.remedies.raise_precision(step, sites=["mujoco/mjx/_src/support.py:67"])',
    ),
)

GOLDEN = Report(
    command="preflight",
    subject="jaxdoctor.yaml",
    examined=4,
    environment=ENVIRONMENT,
    findings=FINDINGS,
    deliveries=DELIVERIES,
    outcomes=(HAND, WALKER),
    checkpoints=CHECKPOINTS,
    series=(Series(path="run", checkpoints=CHECKPOINTS),),
    signatures=(
        Signature(
            target="train:update",
            rounds=1,
            leaves=(
                LeafSignature(
                    path="params/w", dtype_in="float32", dtype_out="float32", shape_in=(3,), shape_out=(3,)
                ),
                LeafSignature(
                    path="opt_state/0/count",
                    dtype_in="int32",
                    dtype_out="float32",
                    shape_in=(),
                    shape_out=(),
                    weak_out=True,
                ),
            ),
        ),
    ),
    prescription=PRESCRIPTION,
    skipped=(Skipped(subject="models/rope.xml", reason="MJX has no tendon wrapping"),),
    ignored=(
        Ignored(
            Finding(
                code="JD304",
                name="optimizer-narrower",
                severity=Severity.WARNING,
                location=Location(path="run/000300", leaf="opt_state/0/mu/actor/kernel"),
                message="first moments are bfloat16 beside float32 parameters",
            ),
            "memory; compared with float32 in March",
        ),
    ),
)

EMPTY = Report(command="probe", subject="nothing", examined=0)

STEERING = "a\x1b[31mred\x07\r\n::error::smuggled%0A\u202egnp.\u2028\ud800\udc80\x00"

HOSTILE_NAME = STEERING + "<script>alert(1)</script>|`x`|&amp;@everyone"

HOSTILE = Report(
    command="scan-checkpoint",
    subject=HOSTILE_NAME,
    examined=1,
    findings=(
        Finding(
            code="JD301",
            name="nonfinite-values",
            severity=Severity.ERROR,
            location=Location(path=HOSTILE_NAME, leaf="/".join(["layer"] * 2000) + HOSTILE_NAME, line=3),
            message=f"in {HOSTILE_NAME} 1 of 3 values is not finite",
            evidence={HOSTILE_NAME: HOSTILE_NAME},
            fix=HOSTILE_NAME,
        ),
    ),
    outcomes=(Outcome(subject=HOSTILE_NAME, trials=TRIALS, verdict=Verdict.UNKNOWN, reason=HOSTILE_NAME),),
    checkpoints=(Checkpoint(path=HOSTILE_NAME, format=HOSTILE_NAME, leaves=CHECKPOINTS[0].leaves),),
    skipped=(Skipped(subject=HOSTILE_NAME, reason=HOSTILE_NAME),),
    ignored=(Ignored(FINDINGS[0], HOSTILE_NAME),),
    prescription=Prescription(reach=(HOSTILE_NAME,)),
)

HUGE = Report(
    command="scan-checkpoint",
    subject="run",
    examined=10_000,
    findings=tuple(
        Finding(
            code="JD301",
            name="nonfinite-values",
            severity=Severity.ERROR if index % 2 else Severity.WARNING,
            location=Location(path=f"run/{index:06}", leaf="params/w"),
            message=f"{index} of 10,000 values are not finite",
            evidence={"nonfinite": index},
        )
        for index in range(10_000)
    ),
)
