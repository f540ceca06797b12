"""Where compiled programs are kept."""

import sys

from jaxdoctor.workers.cache import COMPILED, cache_folder, cache_variables


def test_the_users_cache_folder_is_used_and_made(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(COMPILED, raising=False)

    variables = cache_variables(wanted=True)

    assert variables[COMPILED] == str(tmp_path / "jaxdoctor" / "compiled")
    assert (tmp_path / "jaxdoctor" / "compiled").is_dir()


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
