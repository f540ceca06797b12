"""JD210."""

from __future__ import annotations

from collections.abc import Mapping

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import MassMatrix, Model
from jaxdoctor.facts.precision import F32, F64, TF32, TF32_TRUNCATED
from jaxdoctor.rules.rule import Hits, rule

FIX = "set jax_default_matmul_precision to highest, or give the lightest joints armature"
FIX_F32 = "give the lightest joints armature, or set jax_enable_x64"
FIX_SINGULAR = "give the joints that share an axis armature; no precision is enough"

SINGULAR = 2.0**F64.mantissa_bits
"""A matrix with this condition cannot be distinguished from a singular one in float64 either."""

NAMES: Mapping[str, str] = {
    TF32.name: "its factors are rounded to TF32",
    TF32_TRUNCATED.name: "its factors are cut off to TF32",
}


@rule("JD210", Severity.WARNING)
def indefinite_mass_matrix(model: Model) -> Hits:
    """The mass matrix stops being positive definite when its factors lose mantissa bits.

    ## What it saw

    The mass matrix was built as MJX builds it, as a product of two nv x 6 arrays, at qpos0, at every
    keyframe and in random poses within the joints' limits. With the arrays in float32, or rounded or cut
    off to the 10 mantissa bits of TF32, its Cholesky factorization failed in at least one pose. Models with
    less than 9 degrees of freedom, or from 60 on, are judged in float32 only, because there the product is
    too small for a GPU's matrix units or MJX does not build it as one.

    ## Why it matters

    MJX factors this matrix in every step and does not look whether that worked: `qacc` is NaN from there
    on. On cards with TF32 (NVIDIA from compute capability 8.0 on) the rounding is the default.

    ## What to do

    Give the light joints armature, or make the gap between near-parallel hinges wider; `light-joint` names
    the joints. Or raise the precision: `jax_default_matmul_precision="highest"` where TF32 is the cause,
    `jax_enable_x64` where float32 already fails. Then probe, which tells how many bits the rollout needs.

    ## Example

    ```text
    JD210 warning indefinite-mass-matrix: the mass matrix is not positive definite in 31 of 31 poses when
    its factors are rounded to TF32, first at qpos0
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/support.py (make_m)
    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/smooth.py (factor_m)
    """
    mass = model.mass_matrix
    if mass is None:
        return
    if mass.failures.get(F32.name):
        fix = FIX_F32 if mass.condition < SINGULAR else FIX_SINGULAR
        yield _hit(model, mass, F32.name, "it is built in float32", fix, Severity.ERROR)
        return
    worst = max(NAMES, key=lambda name: len(mass.failures.get(name, ())))
    if mass.failures.get(worst):
        yield _hit(model, mass, worst, NAMES[worst], FIX, None)


def _hit(model: Model, mass: MassMatrix, name: str, when: str, fix: str, severity: Severity | None) -> Hit:
    failed = mass.failures[name]
    return Hit(
        location=Location(path=model.path),
        message=(
            f"the mass matrix is not positive definite in {len(failed)} of {mass.poses} poses when {when}, "
            f"first at {failed[0]}"
        ),
        evidence={
            "failed": {key: len(poses) for key, poses in mass.failures.items()},
            "poses": mass.poses,
            "first": failed[0],
            "condition": float(f"{mass.condition:.3g}"),
            "required_bits": mass.required_bits,
        },
        fix=fix,
        severity=severity,
    )
