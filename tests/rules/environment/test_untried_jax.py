"""JD123: a JAX newer than the newest that was tried."""

import pytest

from jaxdoctor.facts.versions import NEWEST_JAX
from jaxdoctor.rules.environment.untried_jax import untried_jax
from tests.environments import only, software


def test_a_newer_jax_is_noted():
    only(untried_jax, software(versions={"jax": "0.14.0"}))


@pytest.mark.parametrize("jax", [NEWEST_JAX, "0.12.0", "0.5.3", f"{NEWEST_JAX}.dev20261201", None])
def test_what_was_tried_is_silent(jax):
    assert not list(untried_jax.judge(software(versions={"jax": jax})))
