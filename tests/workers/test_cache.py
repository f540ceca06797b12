"""Where compiled programs are kept."""

import ast
import os
import subprocess
import sys
import time

import pytest

from jaxdoctor.workers import cache
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
import sys, time
from jaxdoctor.workers import interpreter
from jaxdoctor.workers.cache import cache_variables
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run
interpreter.choose(sys.argv[1] if sys.argv[1:] else None)
task = Task("tests.workers.compiling:compile_something", users_code=True)
print(run(task(), environment=cache_variables(wanted=True), deadline=time.monotonic() + 100))
"""


def compiled_twice(cache_home, *python):
    """What two workers saw of their cache, one after the other, each of a command of its own."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache_home)}
    variables.pop(COMPILED, None)
    command = [sys.executable, "-c", COMPILE, *python]
    for _ in range(2):
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        yield ast.literal_eval(done.stdout)


def test_the_second_worker_finds_what_the_first_compiled(tmp_path):
    """In an environment without filelock, as a plain install is: the promise, seen from outside."""
    first, second = compiled_twice(tmp_path)

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


@pytest.mark.parametrize(("jaxlib", "kept"), [("0.5.3", False), ("0.6.2", True), (None, False)])
def test_a_jaxlib_that_dies_of_what_it_kept_keeps_nothing(tmp_path, monkeypatch, jaxlib, kept):
    monkeypatch.delenv(COMPILED, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "jaxlib", lambda: jaxlib)

    assert (cache_variables(wanted=True)[COMPILED] is not None) is kept


def test_a_folder_that_cannot_be_made_means_no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv(COMPILED, raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert cache_variables(wanted=True) == {}
