"""What a worker that replays has in its environment."""

from types import SimpleNamespace

import pytest

from jaxdoctor.probe.variables import QUICKER, WITHOUT_FUSION, replay_variables


def machine(platform, **variables):
    device = SimpleNamespace(platform=platform)
    return SimpleNamespace(environment=SimpleNamespace(device=device), variables=variables)


@pytest.mark.parametrize(
    ("platform", "fuses", "flags"),
    [
        ("cpu", True, f"--theirs {QUICKER}"),
        ("cpu", False, f"--theirs {QUICKER} {WITHOUT_FUSION}"),
        ("gpu", False, "--theirs"),
    ],
)
def test_flags_of_ours_come_behind_the_users_and_for_a_cpu_alone(monkeypatch, platform, fuses, flags):
    monkeypatch.setenv("XLA_FLAGS", "--theirs")

    found = replay_variables(machine(platform), {}, fuses=fuses, cache=False)

    assert found["XLA_FLAGS"] == flags


def test_what_is_particular_to_a_worker_overrides_what_replays_share(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)

    found = replay_variables(
        machine("gpu", JAX_PLATFORMS="cuda"), {"JAX_ENABLE_X64": "1"}, fuses=True, cache=False
    )

    assert (found["JAX_ENABLE_X64"], found["JAX_PLATFORMS"], found["XLA_FLAGS"]) == ("1", "cuda", None)
    assert found["JAX_DEFAULT_MATMUL_PRECISION"] is None, "what the user has set is taken out"
