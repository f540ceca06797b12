"""The environments of Brax and of MuJoCo Playground, by name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from jaxdoctor.errors import MissingPackageError, NothingExaminedError, UnknownNameError
from jaxdoctor.programs.named import raised
from jaxdoctor.rollouts.sources.environment import EnvironmentNamed

DOWNLOADED = "mujoco_menagerie"
"""The robots that most of Playground's environments load; the first one clones them from GitHub."""


def brax_environment(named: EnvironmentNamed) -> Any:
    """Brax's environment of that name, without wrappers.

    Raises:
        MissingPackageError: brax is not installed where this runs.
        UnknownNameError: it has none of that name.
        NothingExaminedError: it cannot be made.
    """
    envs = _imported("brax.envs", "brax")
    _insist(named, envs._envs)  # noqa: SLF001 (the registry has no other list of names)
    backend = {key: value for key, value in named.options.items() if key == "backend"}
    return _made(named, lambda: envs.get_environment(named.name, **backend))


def playground_environment(named: EnvironmentNamed) -> Any:
    """Playground's environment of that name, by default on the engine that Playground itself takes.

    Raises:
        MissingPackageError: playground is not installed where this runs, or Warp is not.
        UnknownNameError: it has none of that name.
        NothingExaminedError: it needs a download, or cannot be made.
    """
    package = _imported("mujoco_playground", "playground")
    registry, suite = package.registry, package.dm_control_suite
    _insist(named, registry.ALL_ENVS)
    engine = _imported("mujoco_playground._src.mjx_env", "playground")
    if named.name not in suite.ALL_ENVS and not engine.MENAGERIE_PATH.exists():
        raise NothingExaminedError(
            f"{named.name} needs {DOWNLOADED}, which Playground downloads when it is first made",
            hint=f'let it: {sys.executable} -c "from mujoco_playground import registry; '
            f"registry.load('{named.name}')\"",
        )
    impl = named.options.get("impl", "warp")
    if impl == "warp" and importlib.util.find_spec("warp") is None:
        raise MissingPackageError("'mujoco-mjx[warp]'", sys.executable)
    return _made(named, lambda: registry.load(named.name, config_overrides={"impl": impl}))


def _imported(module: str, package: str) -> Any:
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingPackageError(package, sys.executable) from error


def _insist(named: EnvironmentNamed, known: Iterable[str]) -> None:
    if named.name not in known:
        raise UnknownNameError(f"environment of {named.suite}", named.name, known)


def _made(named: EnvironmentNamed, make: Callable[[], Any]) -> Any:
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()
    except (Exception, SystemExit) as error:
        raise raised(error, named.shown) from error
