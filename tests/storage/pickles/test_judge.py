"""What a pickle would do beyond building state, in every form in which a file can say it."""

import argparse
import collections
import enum
import functools
import pickle
import struct

import numpy as np
import pytest

from tests.storage.pickles.pieces import START, called, named, text, walked

REFUSED = {
    "a function of the standard library": called("os:system", text("id")),
    "a class of it": called("http.client:HTTPSConnection", text("x")),
    "a function of an unknown package": called("my_package.tools:run", text("id")),
    "a function of a known package that builds no state": called("numpy:load", text("x")),
    "a method of an unknown class": called("my_package:Runner.start", text("id")),
    "an unknown class, given a command": called("my_package:Runner", text("touch x; id")),
    "a class of a package that starts processes": called("psutil:Popen", text("id")),
    "names from the memo": text("os")
    + b"\x940"
    + text("system")
    + b"\x940h\x00h\x01\x93"
    + text("id")
    + b"\x85R",
    "NEWOBJ_EX": named("subprocess:Popen") + text("id") + b"\x85}\x92",
    "OBJ": b"(" + named("os:system") + text("id") + b"o",
    "INST": b"(" + text("id") + b"ios\nsystem\n",
    "an attribute of a module of a known package": called(
        "builtins:getattr", named("numpy:f2py"), text("os")
    ),
    "getattr of getattr": called(
        "builtins:getattr", called("builtins:getattr", named("numpy:ndarray"), text("mro")), text("__self__")
    ),
    "getattr of a text": called("builtins:getattr", text(""), text("join")),
    "getattr handed on": called("functools:partial", named("builtins:getattr"), named("numpy:ndarray")),
    "the result of itemgetter": called("operator:itemgetter", b"K\x00")
    + b"("
    + b"]("
    + named("numpy:mean")
    + b"e"
    + b"tR",
    "the result of partial": called("functools:partial", named("my_package:run")) + b")R",
    "a persistent object": text("x") + b"Q" + text("id") + b"\x85R",
    "an extension": b"\x82\x01)R",
    "_reconstruct of a function": called(
        "numpy._core.multiarray:_reconstruct", named("my_package:run"), b")C\x01b"
    ),
    "a function for jax's array": called(
        "jax._src.array:_reconstruct_array", named("my_package:run"), b")N}"
    ),
    "a function for a tensor's class": called(
        "torch._tensor:_rebuild_from_type_v2", named("numpy:mean"), named("torch:Tensor"), b")N"
    ),
    "a text where no library gives one": called("numpy.random._pickle:__generator_ctor", text("os.system")),
    "an encoding that Python would import": called("_codecs:encode", text("x"), text("zlib_codec")),
    "a base class that is called": called(
        "copyreg:_reconstructor", named("my_package:A"), named("my_package:run"), b"N"
    ),
    "a ufunc by the names of modules": called("numpy._core:_ufunc_reconstruct", text("os"), text("system")),
    "sorted, print, map": called("builtins:map", named("my_package:run"), b"]"),
    "reduce with another function": called("functools:reduce", named("numpy:mean"), b"]"),
    "__setstate__ put on an object": called("types:SimpleNamespace")
    + b"}"
    + text("__setstate__")
    + named("my_package:run")
    + b"sb"
    + text("id")
    + b"b",
    "append put on an object": called("types:SimpleNamespace")
    + b"}"
    + text("append")
    + named("my_package:run")
    + b"sb"
    + text("id")
    + b"a",
    "attributes of a class": named("torch.nn.modules.module:Module")
    + b"}"
    + text("forward")
    + named("my_package:run")
    + b"sb",
    "items of a table of a module": named("numpy:sctypeDict") + text("a") + text("b") + b"s",
    "dill, told to evaluate": called("dill._dill:_eval_repr", text("1")),
    "cloudpickle's function, called": called("cloudpickle.cloudpickle:_make_function", b"N}NNN") + b")R",
    "a memo index beyond the file": b"]r\xff\xff\xff\x7f",
    "an opcode across its frame": b"\x95" + struct.pack("<Q", 3) + text("abcdef"),
    "a frame within a frame": b"\x95"
    + struct.pack("<Q", 30)
    + b"\x95"
    + struct.pack("<Q", 1)
    + b"]"
    + b"0]" * 15,
    "a joblib array of objects": named("joblib.numpy_pickle:NumpyArrayWrapper")
    + b")\x81}("
    + text("shape")
    + b"K\x01\x85"
    + text("dtype")
    + called("numpy:dtype", text("O8"), b"\x89\x88")
    + b"ub"
    + START
    + called("os:system", text("id"))
    + b".",
}


@pytest.mark.parametrize("form", REFUSED)
def test_every_form_of_a_call_is_refused(form):
    assert walked(START + REFUSED[form] + b".").dangers


@pytest.mark.parametrize(
    ("content", "call"),
    [
        (b"cos\nsystem\n(S'touch x'\ntR.", "os.system('touch x')"),
        (b"c__builtin__\neval\n(S'1'\ntR.", "builtins.eval('1')"),
        (b"chttplib\nHTTPSConnection\n(S'a.b'\ntR.", "http.client.HTTPSConnection('a.b')"),
        (START + called("posix:system", text("id")) + b".", "os.system('id')"),
        (
            START + called("subprocess:run", b"](" + text("ls") + text("-l") + b"e") + b".",
            "subprocess.run(['ls', '-l'])",
        ),
    ],
)
def test_the_call_is_written_as_python_would(content, call):
    """Names of Python 2 stand there as they are loaded."""
    assert call in walked(content).judged.calls.values()


class Mode(enum.Enum):
    """A user's own."""

    TRAIN = "train"


class Settings:
    """A user's own."""

    def __init__(self):
        self.mode = Mode.TRAIN
        self.rates = {"policy": 1e-3}


Pair = collections.namedtuple("Pair", "first second")  # noqa: PYI024


@pytest.mark.parametrize("protocol", range(6))
def test_own_classes_are_noted_and_no_danger(protocol):
    """A user's settings, enumerations and tuples are named once, with how often."""
    found = walked(pickle.dumps([Settings(), Settings(), Pair(1, 2), argparse.Namespace(a=1)], protocol))

    assert found.dangers == {}
    assert {name.partition(":")[2] for name in found.judged.unknown} == {"Settings", "Mode", "Pair"}


@pytest.mark.parametrize("protocol", range(6))
def test_methods_of_saved_objects_are_no_danger(protocol):
    """A callback that is a method of an object is saved by getattr, and called by nobody."""
    holder = functools.partial(np.random.default_rng(0).normal, 1.0)

    assert walked(pickle.dumps(holder, protocol)).dangers == {}


def test_a_frame_that_holds_whole_opcodes_is_silent():
    """Python's own pickler writes arrays of 64 KiB and more outside of frames."""
    value = [bytes(70_000), "text" * 20_000, list(range(30_000))]

    assert walked(pickle.dumps(value, 5)).dangers == {}
