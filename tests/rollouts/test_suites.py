"""Brax's environments by name, and what is said where there is none."""

import jax
import pytest

from jaxdoctor.errors import MissingPackageError, UnknownNameError
from jaxdoctor.rollouts import suites
from jaxdoctor.rollouts.environments import make
from jaxdoctor.rollouts.sources.environment import environment_named


@pytest.mark.filterwarnings("ignore")  # Brax warns of what it calls itself.
@pytest.mark.parametrize("backend", ["mjx", "generalized", "positional", "spring"])
def test_an_environment_of_brax_on_each_backend(backend):
    environment = make(environment_named(f"brax:inverted_pendulum,backend={backend}"))

    assert environment.engine == ("MJX" if backend == "mjx" else f"Brax {backend}")
    assert (environment.action_size, environment.physics) == (1, "pipeline_state")
    assert environment.model.nu == 1
    shapes = jax.eval_shape(environment.reset, jax.random.PRNGKey(0))
    assert environment.observation(shapes).shape == (4,)


def test_a_name_that_brax_does_not_know():
    with pytest.raises(UnknownNameError, match="no environment of brax named 'ants'") as caught:
        make(environment_named("brax:ants"))

    assert "did you mean 'ant'?" in caught.value.hint


def test_a_suite_that_is_not_installed(monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(module)

    monkeypatch.setattr(suites.importlib, "import_module", missing)
    with pytest.raises(MissingPackageError, match="playground is not installed") as caught:
        make(environment_named("playground:CartpoleBalance"))

    assert "-m pip install playground" in caught.value.hint
