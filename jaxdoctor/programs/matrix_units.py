"""XLA's rule for which products a GPU gives to its matrix units, by their size alone."""

from __future__ import annotations

GEMM_THRESHOLD = 100
"""A product whose (m + n) * k is below this stays with XLA:GPU's elemental emitter, in plain float32.

The default of `xla_gpu_gemm_rewrite_size_threshold`:
https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc
"""

VECTOR_THRESHOLD = 10_000_000
"""The same for a matrix times a vector, which becomes a multiplication and a sum in float32.

https://github.com/openxla/xla/blob/main/xla/service/gpu/transforms/dot_strength_reduction.cc
"""


def runs_on_matrix_units(rows: int, columns: int, depth: int) -> bool:
    """Whether XLA:GPU gives a product `rows x depth @ depth x columns` to matrix units.

    Batch dimensions do not count: so the answer depends on whether the program was vmapped.
    """
    vector = min(rows, columns) == 1
    return (rows + columns) * depth >= (VECTOR_THRESHOLD if vector else GEMM_THRESHOLD)
