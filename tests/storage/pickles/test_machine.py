"""Nothing that a pickle asks for happens, and nothing in it can hang, crash or fill the memory."""

import collections
import datetime as dt
import pathlib
import pickle
import struct
import time
import uuid

import pytest

from jaxdoctor.storage.pickles.machine import read_pickle
from jaxdoctor.storage.pickles.parts import Made, Payload, Table
from jaxdoctor.storage.pickles.source import Cursor

ALLOWANCE = 256 << 20


def walked(content: bytes, allowance: int = ALLOWANCE):
    return read_pickle(Cursor(lambda offset, size: content[offset : offset + size], len(content)), allowance)


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_gives_the_same_values(protocol):
    """Numbers, texts, bytes and containers come back as they were, whatever the protocol."""
    value = [
        None,
        True,
        False,
        1,
        -1,
        255,
        256,
        65536,
        -(2**31),
        2**70,
        1.5,
        "\u00e4 text",
        [],
        (),
        (1,),
        (1, 2, 3, 4),
    ]

    found = walked(pickle.dumps(value, protocol))

    assert found.complete
    assert found.root == value
    assert found.error is None


def test_a_class_is_named_and_not_imported():
    """A module that does not exist is no error, since nothing is looked up."""
    found = walked(b"cno_such_module\nThing\n(I1\nS'two'\ntR.")

    assert isinstance(found.root, Made)
    assert found.root.name == "no_such_module:Thing"
    assert found.root.arguments == (1, "two")
    assert found.calls == {"no_such_module:Thing": 1}


def test_long_bytes_stay_in_the_file():
    """A payload is remembered by its place, and none of it is read."""
    content = pickle.dumps({"a": bytes(1 << 20)}, 4)
    reads = []

    def read_at(offset, size):
        reads.append((offset, size))
        return content[offset : offset + size]

    found = read_pickle(Cursor(read_at, len(content)), ALLOWANCE)
    payload = found.root.get("a")

    assert isinstance(payload, Payload)
    assert content[payload.offset : payload.offset + payload.size] == bytes(1 << 20)
    assert sum(size for _, size in reads) < 1 << 18


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 45) + b"x.", "ends in the middle"),
        (b"\x80\x04B\xff\xff\xff\xffx.", "ends in the middle"),
        (b"\x80\x02X\xff\xff\xff\xff", "ends in the middle"),
        (b"\x80\x04]", "ends in the middle"),
        (b"\x80\x04R.", "stack empty"),
        (b"\x80\x04t.", "no mark"),
        (b"\x80\x04h\x05.", "the memo holds nothing at 5"),
        (b"\x80\x04}K\x01(K\x02u.", "a key without its value"),
        (b"\x80\x09.", "protocol 9"),
        (b"\x80\x04\xfe.", "no opcode"),
        (b"I" + b"9" * 5000 + b"\n.", "too many digits"),
        (b"\x80\x04\x8c\x01\xff.", "encoding"),
        (b"Sno quotes\n.", "without its quotes"),
    ],
)
def test_what_breaks_is_said(content, stated):
    """A broken stream ends with a sentence, never with an exception."""
    found = walked(content)

    assert not found.complete
    assert stated in found.error


@pytest.mark.parametrize("opcode", [b"]", b"(", b"}", b"N"])
def test_more_objects_than_memory_allows_end_the_walk(opcode):
    """A file of opcodes costs far more memory than disk, so objects are counted."""
    found = walked(b"\x80\x04" + opcode * 200_000 + b".", allowance=1 << 20)

    assert "bytes of memory" in found.error


def test_a_huge_memo_index_takes_no_memory():
    """CPython's own unpickler allocates a table up to the index."""
    found = walked(b"\x80\x04]r\xf0\xff\xff\xffj\xf0\xff\xff\xff\x86.")

    assert found.complete
    assert found.root == ([], [])


def test_two_hundred_thousand_levels_are_walked_and_freed():
    """Depth costs neither the interpreter's stack nor its life, also with our own objects between."""
    for level in (b"]" * 200_000 + b"a" * 199_999, b"}K\x00" * 200_000 + b"N" + b"s" * 200_000):
        found = walked(b"\x80\x04" + level + b".")

        assert found.complete
        del found


def test_names_that_reach_out_are_dangers():
    """What runs commands, what reaches through a module, and what only the loading machine knows."""
    content = (
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R0"
        b"\x8c\x05numpy\x8c\x0ef2py.os.system\x930"
        b"\x82\x07."
    )

    found = walked(content)

    assert set(found.dangers) == {"posix:system", "numpy:f2py.os.system", "extension code 7"}
    assert found.calls["posix:system"] == 1


def test_a_dangerous_name_counts_without_a_stop():
    """CPython has run REDUCE long before it finds that the end is missing."""
    found = walked(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R")

    assert not found.complete
    assert "os:system" in found.dangers
    assert found.calls["os:system"] == 1


def test_nested_classes_and_ordinary_names_are_no_danger():
    """Inner classes have dots in their names, and packages unknown to us are the normal case."""
    content = (
        b"\x80\x04\x8c\x05mymod\x8c\x0bOuter.Inner\x930" + pickle.dumps(collections.OrderedDict(a=1), 4)[2:]
    )

    assert walked(content).dangers == {}


def test_a_configuration_is_no_danger():
    """Paths, identifiers, times and counters stand in many saved settings."""
    value = [uuid.UUID(int=1), pathlib.PurePosixPath("a/b"), dt.timedelta(1), collections.Counter("ab")]

    assert walked(pickle.dumps(value)).dangers == {}


def test_a_dictionary_with_unhashable_keys_is_only_pairs():
    """The keys are what the pickle says; nothing is hashed, which could recurse for ever."""
    found = walked(b"\x80\x04}]K\x01s.")

    assert isinstance(found.root, Table)
    assert found.root.pairs == [([], 1)]


def test_speed():
    """A million opcodes take about a second, not a minute."""
    content = pickle.dumps([{"a": index, "b": str(index)} for index in range(60_000)], 4)
    begin = time.process_time()
    found = walked(content)

    assert found.complete
    assert time.process_time() - begin < 10
