"""The size rule against what XLA compiled for a described RTX 4090 (jaxlib 0.10.2), on both sides of it."""

import pytest

from jaxdoctor.machine.products import Dot
from jaxdoctor.programs.matrix_units import runs_on_matrix_units

COMPILED = [
    # rows, columns, depth, and whether the code held TF32 instructions: docs/calibration/compiled.md
    (8, 8, 8, True),
    (6, 6, 8, False),
    (9, 9, 6, True),
    (8, 8, 6, False),
    (4, 4, 6, False),
    (2, 2, 2, False),
    (1, 4096, 4096, True),
    (4096, 1, 4096, True),
    (1, 3170, 3170, True),
    (1, 3160, 3160, False),
    (1, 2048, 2048, False),
]


@pytest.mark.parametrize(("rows", "columns", "depth", "compiled"), COMPILED)
def test_size_decides_as_xla_does(rows, columns, depth, compiled):
    assert runs_on_matrix_units(rows, columns, depth) is compiled
    assert Dot(role="any", m=rows, k=depth, n=columns).on_matrix_units is compiled


def test_a_batch_with_a_shared_operand_has_as_many_rows():
    """A policy layer at batch 1 is a vector product; a batch of observations makes it a matrix."""
    assert not Dot(role="any", m=1, k=64, n=256).on_matrix_units
    assert Dot(role="any", m=1, k=64, n=256, batch=2, shared=True).on_matrix_units
    assert not Dot(role="any", m=1, k=64, n=256, batch=4096).on_matrix_units
