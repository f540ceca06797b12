"""JSON from elsewhere."""

import math

import pytest

from jaxdoctor.storage.budget import Budget, OverBudgetError
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError
from jaxdoctor.storage.json_text import parse, read_object


def test_nan_and_infinity_are_read():
    """Trainers log bare NaN, which strict JSON has no word for."""
    value = parse(b'{"a": NaN, "b": -Infinity}', Budget(), "x")

    assert math.isnan(value["a"])
    assert value["b"] == -math.inf


@pytest.mark.parametrize("text", [b"}", b"\xff", b"[1" * 3, b'{"a":' + b"9" * 5000 + b"}"])
def test_what_is_no_json_is_corrupt(text):
    """Cut, undecodable and absurd texts are one kind of error."""
    with pytest.raises(CorruptError):
        parse(text, Budget(), "x")


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000])
def test_deep_nesting_is_hostile(text):
    """200 000 levels end in an error, not in a crash."""
    with pytest.raises(HostileError, match="nested too deeply"):
        parse(text, Budget(), "x")


def test_a_key_that_stands_twice_is_refused_where_keys_name_arrays():
    """Two readers would see two different files. That is a broken writer, and no attack."""
    with pytest.raises(CorruptError, match="stands twice"):
        parse(b'{"a": 1, "a": 2}', Budget(), "x", unique=True)
    assert parse(b'{"a": 1, "a": 2}', Budget(), "x") == {"a": 2}


def test_json_that_would_fill_the_memory_is_refused():
    """`[[],[],...` becomes many times its size."""
    with pytest.raises(OverBudgetError):
        parse(b"[" + b"[]," * 100_000 + b"1]", Budget(memory=1 << 20), "x")


def test_an_object_is_insisted_on(tmp_path):
    """A list where an object belongs is corrupt."""
    (tmp_path / "a.json").write_text("[1]")

    with pytest.raises(CorruptError, match="list"):
        read_object(tmp_path / "a.json", Budget())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is empty"),
        (b" \n", "nothing but blanks"),
        (bytes(99), "nothing but blanks or zeros"),
        (b'{"weight_map": {"a": "mod', "is cut off after 25 bytes"),
        (b'{"a": 1', "is cut off"),
        (b'{"a": tr', "is cut off"),
        (b'{"a": [1, 2,', "is cut off"),
        (b'{"a":', "is cut off"),
    ],
)
def test_what_broke_off_says_so(text, words):
    with pytest.raises(TruncatedError, match=words):
        parse(text, Budget(), "x")


@pytest.mark.parametrize("text", [b'{"a": 1,}', b"{a: 1}", b'{"a": 1}}', b"\xff", b"hello"])
def test_what_is_no_json_is_not_called_cut(text):
    with pytest.raises(CorruptError, match="not valid JSON"):
        parse(text, Budget(), "x")
