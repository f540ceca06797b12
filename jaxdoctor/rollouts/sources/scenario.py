"""A packaged scenario, written "scenario:hand"."""

from __future__ import annotations

from typing import Any

from jaxdoctor.models.compile import compile_model
from jaxdoctor.models.scenario import PREFIX, scenario_path
from jaxdoctor.rollouts.source import Source


def _accepts(argument: str) -> bool:
    return argument.startswith(PREFIX)


def _check(argument: str) -> None:
    scenario_path(argument.removeprefix(PREFIX))


def _load(argument: str) -> Any:
    return compile_model(str(scenario_path(argument.removeprefix(PREFIX))))


SOURCE = Source(accepts=_accepts, check=_check, load=_load)
