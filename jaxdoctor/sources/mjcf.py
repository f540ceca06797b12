"""A model file of the user's: MJCF, URDF or MJB."""

from __future__ import annotations

from jaxdoctor.mjcf import check_model_file, compile_model, is_model_file
from jaxdoctor.source import Source

SOURCE = Source(accepts=is_model_file, check=check_model_file, load=compile_model)
