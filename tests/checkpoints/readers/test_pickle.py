"""Pickles of pytrees by real libraries, hostile ones, and damaged ones."""

import bz2
import gzip
import lzma
import os
import pickle
import struct
import zlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
from brax.io import model
from hypothesis import given

from jaxdoctor.checkpoints.readers.pickle import READER
from jaxdoctor.facts.leaf import Role
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import TruncatedError
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES


def read(path, budget=None):
    assert knows(READER, path)
    return checkpoint_of(READER, path, budget or Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def values(leaf):
    return np.concatenate(list(leaf.values.stream()))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("zipped", [False, True])
def test_a_training_state_of_every_protocol(tmp_path, protocol, zipped):
    """Arrays of jax and numpy keep path, dtype, shape, weak type and values; optax's fields have names."""
    params = {
        "w": jnp.arange(64.0).reshape(8, 8),
        "half": jnp.ones(5, jnp.bfloat16),
        "b": np.arange(3, dtype=">i4"),
    }
    state = {"params": params, "opt": optax.adam(1e-3).init(params["w"]), "step": 7, "lr": jnp.asarray(0.1)}
    content = pickle.dumps(state, protocol)
    path = tmp_path / "params"
    path.write_bytes(gzip.compress(content) if zipped else content)

    checkpoint = read(path)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert checkpoint.step == 7
    assert list(found) == [
        "params/w", "params/half", "params/b", "opt/0/count", "opt/0/mu", "opt/0/nu", "step", "lr",
    ]  # fmt: skip
    assert (found["params/w"].dtype, found["params/w"].shape) == ("float32", (8, 8))
    assert found["params/half"].dtype == "bfloat16"
    assert found["params/w"].weak_type is False
    assert found["lr"].weak_type is True
    assert (found["step"].value, found["step"].host_scalar) == (7, True)
    assert values(found["params/w"]).tolist() == list(range(64))
    assert values(found["params/b"]).tolist() == [0, 1, 2]
    assert values(found["params/half"]).dtype == ml_dtypes.bfloat16
    assert 0 < checkpoint.bytes_read <= 2 * checkpoint.bytes_total


def test_what_brax_saves(tmp_path):
    """`brax.io.model.save_params` writes a pickle without a suffix."""
    path = tmp_path / "mjx_brax_policy"
    model.save_params(str(path), ({"count": jnp.float32(5)}, {"params": {"kernel": jnp.ones((2, 3))}}))

    found = leaves(read(path))

    assert list(found) == ["0/count", "1/params/kernel"]


def test_a_typed_key_is_one_leaf(tmp_path):
    """Its implementation's functions and sizes are no leaves."""
    path = tmp_path / "key.pkl"
    path.write_bytes(pickle.dumps({"rng": jax.random.key(3)}))

    (leaf,) = read(path).leaves

    assert (leaf.path, leaf.dtype, leaf.role) == ("rng", "uint32", Role.KEY)


def test_what_an_old_jax_pickled():
    """Written by jax 0.4.23, under NumPy 1.26's names; jax 0.10 itself refuses it."""
    checkpoint = read(FIXTURES / "jax_0_4_23.pkl")
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert {path: (leaf.dtype, leaf.shape, leaf.weak_type) for path, leaf in found.items()} == {
        "params/w": ("float32", (2, 3), False),
        "params/half": ("bfloat16", (3,), False),
        "scale": ("float32", (), True),
        "key": ("uint32", (2,), False),
        "count": ("int32", (), None),
    }
    assert found["key"].role is Role.KEY
    assert values(found["params/w"]).tolist() == list(range(6))


def test_pickles_one_after_the_other(tmp_path):
    """Several dumps into one file are numbered."""
    path = tmp_path / "log.pkl"
    path.write_bytes(pickle.dumps({"a": 1}) + pickle.dumps({"a": 2}))

    assert [leaf.path for leaf in read(path).leaves] == ["0/a", "1/a"]


def test_large_arrays_are_not_read(tmp_path):
    """Of sixteen megabytes, what describes them is read, and a sample reads what it shows."""
    path = tmp_path / "big.pkl"
    path.write_bytes(pickle.dumps({f"w{index}": np.full(1 << 20, index, np.float32) for index in range(4)}))
    budget = Budget()

    checkpoint = read(path, budget)
    described = budget.bytes_read
    sample = checkpoint.leaves[3].values.sample(4096)

    assert described < 1 << 20
    assert set(sample.tolist()) == {3.0}
    assert budget.bytes_read - described == 4096


def test_a_cut_file_gives_what_came_before(tmp_path):
    """The first arrays of a truncated pickle are still judged."""
    path = tmp_path / "cut.pkl"
    content = pickle.dumps({"a": np.ones(1000), "b": np.ones(1000)})
    path.write_bytes(content[: len(content) * 3 // 4])

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["truncated-file"]
    assert any(leaf.shape == (1000,) for leaf in checkpoint.leaves)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b".",
        b"{}",
        b"(hello)",
        b"copyright 2026\nby us\nbut\n",
        b"]]]",
        b"import os\n",
        b"\x80",
        b"\x80\x04",
    ],
)
def test_other_files_are_no_pickles(tmp_path, text):
    """Texts may begin with an opcode; they do not go on with one."""
    path = tmp_path / "notes"
    path.write_bytes(text)

    assert not knows(READER, path)


class Runs:
    """Creates a file when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def stacked(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


def payloads(command: str) -> dict[str, bytes]:
    """Pickles which run a command when Python loads them, or when a helper that they name does."""
    run = stacked("posix", "system")
    state = (
        b"(K\x01K\x01\x85"
        + stacked("numpy", "dtype")
        + text("f4")
        + b"\x89\x88\x87R\x89C\x04"
        + bytes(4)
        + b"t"
    )
    quoted = command.encode()
    return {
        "reduce": pickle.dumps({"w": Runs(command)}, 4),
        "protocol 0": b"cposix\nsystem\n(S'" + quoted + b"'\ntR.",
        "inst": b"(S'" + quoted + b"'\niposix\nsystem\n.",
        "obj": b"\x80\x02(cposix\nsystem\nX" + struct.pack("<I", len(command)) + quoted + b"o.",
        "newobj": b"\x80\x04" + stacked("subprocess", "Popen") + text("touch") + b"\x85\x81.",
        "newobj_ex": b"\x80\x04" + stacked("subprocess", "Popen") + text("touch") + b"\x85}\x92.",
        "setstate": b"\x80\x04" + stacked("shelve", "Shelf") + b")\x81}" + text("x") + text(command) + b"sb.",
        "second pickle": pickle.dumps({"a": 1}) + pickle.dumps(Runs(command)),
        "no stop": b"\x80\x04" + run + text(command) + b"\x85R",
        "inside _reconstruct_array": b"\x80\x04"
        + stacked("jax._src.array", "_reconstruct_array")
        + b"("
        + run
        + text(command)
        + b"\x85"
        + state
        + b"}tR.",
        "unknown function in _reconstruct_array": b"\x80\x04"
        + stacked("jax._src.array", "_reconstruct_array")
        + b"("
        + stacked("my_package", "run")
        + text(command)
        + b"\x85"
        + state
        + b"}tR.",
        "dotted": b"\x80\x04" + stacked("numpy", "f2py.os.system") + text(command) + b"\x85R.",
        "getattr": b"\x80\x04"
        + stacked("builtins", "getattr")
        + stacked("posix", "x")
        + text("system")
        + b"\x86R.",
        "partial": b"\x80\x04" + stacked("functools", "partial") + run + text(command) + b"\x86R.",
        "extension": b"\x80\x04\x84\x01\x00\x00\x00)R.",
        "as a dictionary key": b"\x80\x04}" + run + text(command) + b"\x85R" + b"K\x01s.",
        "dropped from the stack": b"\x80\x04" + run + text(command) + b"\x85R0}.",
    }


@pytest.mark.parametrize("kind", payloads(""))
@pytest.mark.parametrize("zipped", [False, True])
def test_hostile_pickles_are_named_and_never_run(tmp_path, kind, zipped):
    """Every way in which a pickle calls something is a finding, and what it would do is not done."""
    proof = tmp_path / "proof"
    content = payloads(f"touch {proof}")[kind]
    path = tmp_path / "params.pkl"
    path.write_bytes(gzip.compress(content) if zipped else content)

    checkpoint = read(path)
    for leaf in checkpoint.leaves:
        if leaf.values is not None:
            list(leaf.values.stream())

    assert "hostile-content" in {fault.kind for fault in checkpoint.faults}
    assert not proof.exists()


def test_the_hostile_pickle_really_is_hostile(tmp_path):
    """Python's own unpickler does create the file, so the test above can fail."""
    proof = tmp_path / "proof"
    pickle.loads(payloads(f"touch {proof}")["reduce"])

    assert proof.exists()


@pytest.mark.parametrize(
    "compress",
    [bz2.compress, lzma.compress, zlib.compress, lambda raw: lzma.compress(raw, format=lzma.FORMAT_ALONE)],
    ids=["bzip2", "xz", "zlib", "lzma"],
)
def test_compressed_as_a_whole(tmp_path, compress):
    """Joblib and pandas compress so: a payload is found, a healthy state read, a damaged one said."""
    state = tmp_path / "state.pkl"
    state.write_bytes(compress(pickle.dumps({"w": np.arange(5000.0), "step": 3})))
    hostile = tmp_path / "hostile.pkl"
    hostile.write_bytes(compress(payloads("true")["reduce"]))
    cut = tmp_path / "cut.pkl"
    cut.write_bytes(state.read_bytes()[:-200])

    checkpoint = read(state)

    assert checkpoint.faults == ()
    assert values(leaves(checkpoint)["w"]).tolist() == list(range(5000))
    assert {fault.kind for fault in read(hostile).faults} == {"hostile-content"}
    assert knows(READER, cut)
    try:
        kinds = {fault.kind for fault in READER.read(cut, Budget()).faults}
    except TruncatedError as error:  # bzip2 gives nothing before a block is whole
        kinds = {error.kind}
    assert kinds & {"truncated-file", "corrupt-data"}


def test_a_long_text_hides_nothing(tmp_path):
    """A pickle of protocol 0 may begin with any text, longer than what recognition looks at."""
    path = tmp_path / "params.pkl"
    path.write_bytes(b"V" + b"a" * 9000 + b"\n0cos\nsystem\n(S'true'\ntR.")

    assert {fault.kind for fault in read(path).faults} == {"hostile-content"}


@pytest.mark.parametrize(
    "opening",
    [
        b"V\n0",
        b"I1\np0\n0",
        b"N0",
        b"K\x010",
        b"S'a'\n0",
        b"L1L\n0",
        b"F1\n0",
        b"U\x01a0",
        b"G" + bytes(8) + b"0",
    ],
)
@pytest.mark.parametrize("name", ["params.pkl", "params"])
def test_every_opening_opcode(tmp_path, opening, name):
    """`pickle.load` runs what follows any of them."""
    path = tmp_path / name
    path.write_bytes(opening + b"cos\nsystem\n(S'true'\ntR.")

    assert {fault.kind for fault in read(path).faults} == {"hostile-content"}


def test_sharing_is_no_bomb(tmp_path):
    """Forty doublings would be a trillion leaves."""
    path = tmp_path / "bomb.pkl"
    node = [1.0]
    for _ in range(40):
        node = [node, node]
    path.write_bytes(pickle.dumps(node))

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert len(checkpoint.leaves) <= 200_000


def test_cycles_and_depth_end(tmp_path):
    """A list in itself has its other leaves; a thousand levels are said."""
    circle = [1, 2]
    circle.append(circle)
    path = tmp_path / "circle.pkl"
    path.write_bytes(pickle.dumps(circle))
    deep = tmp_path / "deep.pkl"
    deep.write_bytes(b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b".")

    assert [leaf.path for leaf in read(path).leaves] == ["0", "1"]
    assert [fault.kind for fault in read(deep).faults] == ["hostile-content"]


def test_sizes_are_compared_before_anything_is_held(tmp_path):
    """A shape that its bytes do not fill is a fault of that leaf, and the others stay."""
    path = tmp_path / "short.pkl"
    content = pickle.dumps({"a": np.ones(100, np.float32), "b": 1}, 4)
    path.write_bytes(content.replace(b"K\x64\x85", b"K\xc8\x85"))

    checkpoint = read(path)

    assert [(fault.kind, fault.leaf) for fault in checkpoint.faults] == [("truncated-file", "a")]
    assert [leaf.path for leaf in checkpoint.leaves] == ["a", "b"]


@pytest.mark.parametrize("arguments", [b")", b"N\x85", b"(K\x01K\x02tN\x86", b"}"])
@pytest.mark.parametrize(
    "callee",
    ["jax._src.array _reconstruct_array", "numpy._core.multiarray scalar", "torch._utils _rebuild_tensor_v2"],
)
def test_calls_without_their_arguments(tmp_path, callee, arguments):
    """A call that cannot make an array is a fault of that leaf, or no leaf at all."""
    path = tmp_path / "odd.pkl"
    path.write_bytes(b"\x80\x04" + stacked(*callee.split()) + arguments + b"R.")

    assert {fault.kind for fault in read(path).faults} <= {"corrupt-data", "hostile-content"}


def test_arrays_wrapped_in_arrays(tmp_path):
    """Ten thousand subclasses of tensors, each around the next."""
    path = tmp_path / "wrapped.pkl"
    # Each level's state is a dictionary whose one entry is the level within.
    called = stacked("torch._tensor", "_rebuild_from_type_v2") + b"(" + stacked("torch._utils", "_f")
    levels = 10_000
    content = (called + b"N)}" + text("_local_tensor")) * levels
    path.write_bytes(b"\x80\x04" + content + b"N" + b"stR" * levels + b".")

    assert "hostile-content" in {fault.kind for fault in read(path).faults}


def test_a_gzip_bomb_ends(tmp_path):
    """Three hundred megabytes of nothing from three hundred kilobytes are refused."""
    path = tmp_path / "bomb.pkl.gz"
    content = b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + bytes(320 << 20)
    path.write_bytes(gzip.compress(content, 9))

    checkpoint = read(path)

    assert {fault.kind for fault in checkpoint.faults} <= {"hostile-content", "truncated-file"}
    assert checkpoint.faults


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly."""
    folder = tmp_path_factory.getbasetemp() / "pickle-fuzz"
    folder.mkdir(exist_ok=True)
    original = folder / "state.pkl"
    if not original.exists():
        params = {"w": np.ones((8, 8), np.float32), "half": np.ones(4, ml_dtypes.bfloat16)}
        original.write_bytes(
            pickle.dumps({"params": params, "opt": optax.adam(1e-3).init(params), "step": 3})
        )
    with damaged(original, happened) as path:
        insist_calm(READER, path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("module.py", b"import sys\nfrom collections.abc import Callable, Sequence\n\nx = 1\n"),
        ("stub.pyi", b"import numpy as np\nimport numpy.ma as ma\n"),
        ("schema.zip", b"PK\x03\x04" + bytes(range(10, 250)) * 20),
    ],
)
def test_a_program_or_an_archive_is_no_pickle(tmp_path, name, content):
    """Their first letters are opcodes that no pickle begins with."""
    path = tmp_path / name
    path.write_bytes(content)

    assert not knows(READER, path)


def test_the_element_type_as_python_2_writes_it(tmp_path):
    """One letter of text where Python 3 writes a byte."""
    path = tmp_path / "old.pkl"
    path.write_bytes(b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R.")

    assert [fault.kind for fault in checkpoint_of(READER, path, Budget()).faults] == []


@pytest.mark.parametrize("name", ["PCG64", "MT19937"])
def test_a_random_generator_of_an_older_numpy(tmp_path, name):
    """It is saved with the name of its kind; no other text is taken for one."""
    path = tmp_path / "generator.pkl"
    called = b"\x80\x02cnumpy.random._pickle\n__generator_ctor\n"
    path.write_bytes(called + b"U" + bytes([len(name)]) + name.encode() + b"\x85R.")

    assert checkpoint_of(READER, path, Budget()).faults == ()
