"""Where compiled programs are kept."""

import ast
import os
import subprocess
import sys
import time

from jaxdoctor.workers.cache import COMPILED, cache_folder, cache_variables, prune


def test_the_users_cache_folder_is_used_and_made(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(COMPILED, raising=False)

    variables = cache_variables(wanted=True)

    assert variables[COMPILED] == str(tmp_path / "jaxdoctor" / "compiled")
    assert (tmp_path / "jaxdoctor" / "compiled").is_dir()


def test_no_maximum_size_is_set(tmp_path, monkeypatch):
    """With one, JAX wants a package that it does not depend on, and keeps nothing without it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(COMPILED, raising=False)

    assert cache_variables(wanted=True)["JAX_COMPILATION_CACHE_MAX_SIZE"] == "-1"


def entry(folder, name, size, *, days):
    path = folder / name
    path.write_bytes(bytes(size))
    moment = time.time() - days * 86_400
    os.utime(path, (moment, moment))


def test_what_was_not_used_for_long_goes_first(tmp_path):
    """Then the least recently used, until the rest is small enough."""
    for name, days in {"today": 0, "week": 7, "month": 29, "year": 365}.items():
        entry(tmp_path, name, 100, days=days)

    prune(tmp_path, most_bytes=250, most_days=30)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["today", "week"]


def test_a_folder_that_is_not_there_is_pruned_in_peace(tmp_path):
    prune(tmp_path / "nothing")


COMPILE = """
import time
from jaxdoctor.workers.cache import cache_variables
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run
task = Task("tests.workers.test_cache:compile_something", users_code=True)
print(run(task(), environment=cache_variables(wanted=True), deadline=time.monotonic() + 100))
"""


def compile_something(*, progress):
    """How often JAX asked its persistent cache, and how often that had the program."""
    sys.modules["filelock"] = None  # as a plain install is, whatever the tests' environment holds
    import jax
    import jax.numpy as jnp
    from jax import monitoring

    seen = {"hits": 0, "asked": 0}

    def count(event, **_):
        if event == "/jax/compilation_cache/cache_hits":
            seen["hits"] += 1
        if event == "/jax/compilation_cache/compile_requests_use_cache":
            seen["asked"] += 1

    monitoring.register_event_listener(count)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.jit(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(8)))(jnp.ones((8, 8))).block_until_ready()
    return seen


def test_the_second_worker_finds_what_the_first_compiled(tmp_path):
    """In an environment without filelock, as a plain install is: the promise, seen from outside."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    variables.pop(COMPILED, None)

    first, second = (
        ast.literal_eval(
            subprocess.run(
                [sys.executable, "-c", COMPILE], env=variables, capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(2)
    )

    assert first["hits"] == 0
    assert second["hits"] == second["asked"] > 0


def test_a_relative_xdg_path_is_ignored_as_the_specification_wants(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert cache_folder() == tmp_path / ".cache" / "jaxdoctor"


def test_a_cache_of_the_users_own_is_left_as_it_is(monkeypatch):
    monkeypatch.setenv(COMPILED, "/somewhere")

    assert cache_variables(wanted=True) == {}


def test_without_a_cache_none_is_used(monkeypatch):
    monkeypatch.setenv(COMPILED, "/somewhere")

    assert cache_variables(wanted=False) == {COMPILED: None}


def test_a_folder_that_cannot_be_made_means_no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv(COMPILED, raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert cache_variables(wanted=True) == {}
