"""A function with some of its matrix products at HIGHEST: see `jaxdoctor/programs/raise_precision.py`."""

from __future__ import annotations

from jaxdoctor.programs.raise_precision import raise_precision as raise_precision  # noqa: PLC0414 (its home)
