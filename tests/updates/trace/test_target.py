"""Targets that are wrong: one clear error each."""

import sys

import pytest

from jaxdoctor.errors import MISUSE, NOTHING_EXAMINED, JaxdoctorError
from jaxdoctor.programs.named import find
from jaxdoctor.updates.check import Wish, check_update
from jaxdoctor.updates.trace.target import build

WRONG = """
import sys, time
import jax.numpy as jnp

def needs(batch_size, rate): return None
def raises(): raise ValueError("no \\x1b[31msuch dataset\\nsecond line")
def leaves(): sys.exit(0)
def returns_nothing(): pass
def returns_a_dict(): return {"state": 1}
def loops():
    while True: time.sleep(0.1)
def prints():
    print("chatter on stdout")
    sys.stdout.flush()
    return lambda state: state + 1, jnp.zeros(3)
def takes_params(params):
    import jax
    return lambda state: jax.tree.map(lambda leaf: leaf * 0.5, state), params
def tree(): return {"w": jnp.ones((2, 2))}
def ends():
    import os
    os._exit(7)
def transform():
    import optax
    return optax.sgd(0.1)
state = {"w": 1}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "wrong_targets.py"
    path.write_text(WRONG)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return path


def refused(target, params=None):
    with pytest.raises(JaxdoctorError) as caught:
        check_update(Wish(target=str(target), params=params, time_limit=30))
    error = caught.value
    assert "\n" not in str(error) + error.hint
    return str(error), error.hint, error.exit_code


@pytest.mark.parametrize(
    ("target", "message", "hint", "code"),
    [
        ("nowhere", "'nowhere' names no function", "write package.module:function", MISUSE),
        (
            "no.such.package:f",
            "no.such.package cannot be imported: ModuleNotFoundError",
            "run it from",
            MISUSE,
        ),
        ("{file}.gone.py:f", "there is no file", "as seen from this folder", MISUSE),
        ("{file}:need", "there is no function in {file} named 'need'", "did you mean 'needs'?", MISUSE),
        ("{file}:needs", "{file}:needs needs arguments: batch_size, rate", "wrap it: def target()", MISUSE),
        (
            "{file}:returns_nothing",
            "{file}:returns_nothing returned None",
            "returns (update, state, *args)",
            MISUSE,
        ),
        ("{file}:returns_a_dict", "returned a value of type dict", "returns (update, state, *args)", MISUSE),
        ("{file}:state", "{file}:state is a value of type dict", "name a function without arguments", MISUSE),
        ("{file}:transform", "needs parameters to be checked against", "give --params", MISUSE),
    ],
)
def test_a_target_that_cannot_be_meant(file, target, message, hint, code):
    named = target.format(file=file)

    with pytest.raises(JaxdoctorError) as caught:
        build(find(named), named, None)

    assert message.format(file=file) in str(caught.value)
    assert hint in caught.value.hint
    assert caught.value.exit_code == code


def test_a_module_that_raises_while_it_is_imported(tmp_path):
    path = tmp_path / "broken_module.py"
    path.write_text("x = 1\nraise RuntimeError('no GPU')\n")

    message, hint, code = refused(f"{path}:f")

    assert message == f"importing {path} raises RuntimeError: no GPU"
    assert f"{path}:2" in hint
    assert code == NOTHING_EXAMINED


@pytest.mark.parametrize(
    ("name", "message"),
    [("raises", r"raises ValueError: no \x1b[31msuch dataset"), ("leaves", "raises SystemExit: 0")],
)
def test_a_target_that_raises(file, name, message):
    said, hint, code = refused(f"{file}:{name}")

    assert said == f"{file}:{name} {message}"
    assert f"{file}:" in hint
    assert code == NOTHING_EXAMINED


def test_a_target_that_loops_for_ever_is_ended(file):
    with pytest.raises(JaxdoctorError) as caught:
        check_update(Wish(target=f"{file}:loops", time_limit=4))

    assert str(caught.value) == f"{file}:loops did not end within 4 s"
    assert "--time-limit" in caught.value.hint
    assert caught.value.exit_code == NOTHING_EXAMINED


def test_a_target_that_ends_the_process_is_told_from_a_result(file):
    said, _, code = refused(f"{file}:ends")

    assert said == f"{file}:ends died with exit code 7"
    assert code == NOTHING_EXAMINED


def test_a_function_of_params_is_called_with_those_that_are_given(file):
    """From a function, with each dtype of a sweep."""
    wish = Wish(target=f"{file}:takes_params", params=f"{file}:tree", params_dtypes=("float32", "bfloat16"))

    report = check_update(wish)

    leaves = [leaf for signature in report.signatures for leaf in signature.leaves]
    assert [(leaf.path, leaf.before, leaf.change) for leaf in leaves] == [
        ("w", "float32[2,2]", None),
        ("w", "bfloat16[2,2]", None),
    ]


@pytest.mark.parametrize(("setting", "before"), [("0", "float32[2,2]"), ("1", "float64[2,2]")])
def test_x64_is_as_the_environment_has_it(file, monkeypatch, setting, before):
    monkeypatch.setenv("JAX_ENABLE_X64", setting)

    (signature,) = check_update(Wish(target=f"{file}:takes_params", params=f"{file}:tree")).signatures

    assert (signature.x64, signature.leaves[0].before) == (setting == "1", before)


def test_parameters_that_nobody_uses_are_refused(file):
    said, hint, code = refused(f"{file}:prints", params="w=float32[3]")

    assert said == f"{file}:prints does not use --params"
    assert "def target(params)" in hint
    assert code == MISUSE


def test_a_target_that_prints_does_not_reach_the_report(file, capfd):
    report = check_update(Wish(target=f"{file}:prints", time_limit=30))

    assert report.examined == 1
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("w=float32[3", "--params cannot be read from 'w=float32[3' on"),
        ("w=float32[3],w=float32[4]", "--params names w twice"),
        ("w=float33[3]", "there is no dtype named 'float33'"),
        ("nothing-there", "--params 'nothing-there' is no checkpoint"),
        ("{file}", "is no checkpoint of a known format"),
    ],
)
def test_parameters_that_cannot_be_read(file, params, message):
    said, _, code = refused(f"{file}:transform", params=params.format(file=file))

    assert message in said
    assert code == MISUSE
