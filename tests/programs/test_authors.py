"""Whose line a frame is."""

import argparse
import functools
import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import jaxdoctor
from jaxdoctor.programs import authors

JAX, OURS = Path(jax.__file__).parent, Path(jaxdoctor.__file__).parent

WRITTEN = "import jax.numpy as jnp\n\n\ndef update(x):\n    return jnp.sin(x)\n"


def update_in(folder):
    """The function of a file in that folder."""
    folder.mkdir(parents=True)
    file = folder / "train.py"
    file.write_text(WRITTEN)
    spec = importlib.util.spec_from_file_location("train", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.update, str(file)


@pytest.mark.parametrize(
    "folders", ["project", "jax", "src/jax/examples", "jaxlib", "replay", "jaxdoctor/replay", "contextlib.py"]
)
def test_a_project_below_any_folder_keeps_its_lines(tmp_path, folders):
    """A folder that is called as one of JAX's, or as one of ours, is the user's all the same."""
    update, file = update_in(tmp_path / folders)
    (eqn,) = jax.make_jaxpr(update)(1.0).jaxpr.eqns

    assert authors.is_users(file)
    assert next(frame.file_name for frame in authors.user_frames(eqn)) == file
    assert authors.place_of(eqn) == "train.py:5 (update)"


@pytest.mark.parametrize(
    "file",
    [
        jnp.__file__,
        str(JAX / "_src" / "core.py"),
        str(OURS / "replay" / "ensemble.py"),
        functools.__file__,
        "<frozen importlib._bootstrap>",
        "<string>",
    ],
)
def test_lines_of_jax_of_python_and_of_ours_are_not(file):
    assert not authors.is_users(file)


def test_a_remedy_is_called_by_the_user_and_is_a_library_like_any_other():
    assert authors.is_users(str(OURS / "remedies" / "step_counter.py"))


def test_an_equation_that_nobody_outside_jax_asked_for_has_no_place(monkeypatch):
    (eqn,) = jax.make_jaxpr(jnp.sin)(1.0).jaxpr.eqns
    monkeypatch.setattr(authors, "is_users", lambda _: False)

    assert authors.place_of(eqn) == "unknown"
    assert authors.user_frames(eqn) == ()


def test_a_path_is_seen_from_this_folder_or_from_the_packages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert authors.shorten(str(tmp_path / "runs" / "train.py")) == str(Path("runs", "train.py"))
    assert authors.shorten("/env/lib/site-packages/optax/_src/base.py") == "optax/_src/base.py"
    assert authors.shorten("/elsewhere/train.py") == "/elsewhere/train.py"


def test_python_s_own_library_is_nobody_s_and_what_is_installed_below_it_is():
    """Without a virtual environment the packages lie in the folder of the standard library."""
    assert not authors.is_users(argparse.__file__)
    assert not authors.is_users(importlib.util.__file__)
    assert authors.is_users(str(Path(argparse.__file__).parent / "site-packages" / "optax" / "base.py"))
