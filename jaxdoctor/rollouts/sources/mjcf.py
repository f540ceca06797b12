"""A model file of the user's: MJCF, URDF or MJB."""

from __future__ import annotations

from jaxdoctor.models.compile import check_model_file, compile_model, is_model_file
from jaxdoctor.rollouts.source import Source

SOURCE = Source(accepts=is_model_file, check=check_model_file, file=True, load=compile_model)
