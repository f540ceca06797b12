"""Turns what a pickle would have built into leaves with paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Values
from jaxdoctor.storage.blobs import memory_values
from jaxdoctor.storage.damage import DamagedError, HostileError
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.known_tuples import FIELDS
from jaxdoctor.storage.pickles.parts import Bag, Global, Made, Persistent, Table
from jaxdoctor.storage.pickles.records import records

DEEPEST = 200
"""Levels of nesting that a path may have. The deepest real trees have about thirty."""

MOST_LEAVES = 200_000
MOST_REVISITS = 100_000
"""Containers may stand at several places; so many repetitions are followed, since sharing multiplies."""

LONGEST_KEY = 200
RUN = 16
"""So many plain numbers in a row are one leaf, not one each."""

FOREIGN = frozenset(
    [
        "PIL", "astropy", "catboost", "gensim", "geopandas", "gym", "gymnasium", "hmmlearn", "imblearn",
        "lightgbm", "matplotlib", "networkx", "nltk", "pandas", "plotly", "polars", "pyarrow",
        "pynndescent", "scipy", "shapely", "sklearn", "spacy", "statsmodels", "sympy", "umap", "xarray",
        "xgboost",
    ]
)  # fmt: skip
"""Packages whose objects hold tables, bounds and settings: NaN and 64 bits are meant there."""

NOT_LEAVES = frozenset({"numpy:dtype", "_codecs:encode", "numpy._core.multiarray:dtype"})

CONTAINERS = (Table, list, tuple, Made, Bag)
Path = tuple[str, ...]
Recognize = Callable[[Made], Array | None]


@dataclass
class Tree:
    """The leaves found so far, and what could not be accepted on the way."""

    leaves: list[Leaf] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)

    def note_once(self, kind: str, message: str) -> None:
        """A fault that would otherwise stand there a thousand times."""
        if message not in self.cut:
            self.cut.add(message)
            self.faults.append(Fault(kind=kind, message=message))


class _Leave:
    """Marks the end of a container on the walk."""

    __slots__ = ("foreign", "identity")

    def __init__(self, identity: int, *, foreign: bool = False) -> None:
        self.identity = identity
        self.foreign = foreign


def walk(root: Any, recognize: Recognize, tree: Tree, *, prefix: str = "") -> None:
    """Adds the leaves of one root, in the order of the file. Cycles end, however they are made."""
    visits = _Visits(tree)
    foreign: list[str] = []
    """The packages of other fields whose objects the walk is in."""

    waiting: list[tuple[Path, Any]] = [((prefix,) if prefix else (), root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, _Leave):
            visits.active.discard(node.identity)
            if node.foreign:
                foreign.pop()
        elif len(tree.leaves) >= MOST_LEAVES:
            tree.note_once("unsupported-leaf", f"only the first {MOST_LEAVES} leaves are judged")
            return
        else:
            node = _as_leaf(node, recognize, tree, path, foreign[0] if foreign else None)
            if isinstance(node, CONTAINERS) and visits.may_enter(node, len(path)):
                package = _foreign(node)
                if package is not None:
                    foreign.append(package)
                waiting.append((path, _Leave(id(node), foreign=package is not None)))
                inner = islice(_inner(node, tree, path), MOST_LEAVES + 1)
                waiting.extend(reversed([((*path, *step), child) for step, child in inner]))


class _Visits:
    """Which containers the walk is in, and which it has seen."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.active: set[int] = set()
        self.known: set[int] = set()
        self.again = 0

    def may_enter(self, node: Any, depth: int) -> bool:
        """Whether its children are to be walked: not in a cycle, not too deep, not too often."""
        if id(node) in self.active:
            return False
        if depth >= DEEPEST:
            self.tree.note_once("hostile-content", f"objects nest deeper than {DEEPEST} levels")
            return False
        if id(node) in self.known and not _is_empty(node):
            self.again += 1
        if self.again > MOST_REVISITS:
            self.tree.note_once("hostile-content", "sharing multiplies few objects into very many")
            return False
        self.known.add(id(node))
        self.active.add(id(node))
        return True


def _foreign(node: Any) -> str | None:
    """The package of another field that a class is of."""
    if not isinstance(node, Made):
        return None
    cls = node.callee
    if node.name in {"copyreg:_reconstructor", "copyreg:__newobj__"} and isinstance(node.arguments, tuple):
        cls = node.arguments[0] if node.arguments else None
    package = cls.module.partition(".")[0] if isinstance(cls, Global) else ""
    return package if package in FOREIGN else None


def _as_leaf(node: Any, recognize: Recognize, tree: Tree, path: Path, foreign: str | None) -> Any:
    """Adds what is a leaf, and gives what is still to be walked: None, or a container."""
    if foreign is not None and _is_plain(node):
        return None  # a setting of an estimator, the missing value of a frame
    found = _scalar(node) if _is_plain(node) else _array(node, recognize, tree, path)
    if found is None:
        return node
    if found.items is not None:
        return found.items[0] if not found.shape and len(found.items) == 1 else found.items
    leaf = found.leaf("/".join(path))
    tree.leaves.append(leaf if foreign is None else replace(leaf, foreign=foreign))
    return None


def _inner(node: Any, tree: Tree, path: Path) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is to be walked in a container. The numbers of records become a leaf for each field."""
    found = records(node) if isinstance(node, (list, tuple)) else None
    if found is None:
        return _children(node)
    tree.leaves += [column.leaf("/".join((*path, *steps))) for steps, column in found.columns]
    return iter(found.others)


def _is_empty(node: Any) -> bool:
    return isinstance(node, (list, tuple)) and not node


def _is_plain(node: Any) -> bool:
    return isinstance(node, (bool, int, float, complex))


def _array(node: Any, recognize: Recognize, tree: Tree, path: Path) -> Array | None:
    if isinstance(node, Made):
        try:
            return _recognized(node, recognize)
        except DamagedError as error:
            place = "/".join(path)
            tree.faults.append(error.fault(leaf=place))
            return Array(dtype="unknown", shape=(), unsupported=str(error))
    if isinstance(node, (list, tuple)) and len(node) >= RUN:
        return _run_of_numbers(node)
    return None


def _recognized(node: Made, recognize: Recognize) -> Array | None:
    try:
        return recognize(node)
    except RecursionError as error:
        raise HostileError("an array wraps an array, again and again") from error


def _run_of_numbers(items: list[Any] | tuple[Any, ...]) -> Array | None:
    kind = type(items[0])
    if kind not in {bool, int, float} or any(type(item) is not kind for item in items):
        return None
    held = _held(items, kind)
    return (
        None if held is None else Array(dtype=held[0], shape=(len(items),), values=held[1], host_scalar=True)
    )


def _held(items: list[Any] | tuple[Any, ...], kind: type) -> tuple[str, Values] | None:
    name = {bool: "bool", int: "int64", float: "float64"}[kind]
    try:
        content = _packed(items, kind)
    except OverflowError:
        return None
    return name, memory_values(content, Element(name))


def _packed(items: list[Any] | tuple[Any, ...], kind: type) -> bytes:
    import struct  # noqa: PLC0415 (rare)

    letter = {bool: "?", int: "q", float: "d"}[kind]
    try:
        return struct.pack(f"<{len(items)}{letter}", *items)
    except struct.error as error:
        raise OverflowError from error


def _scalar(value: Any) -> Array:
    kind = type(value)
    if kind is complex:
        return Array(dtype="complex128", shape=(), value=value, host_scalar=True)
    held = _held([value], kind)
    if held is None:
        return Array(dtype="object", shape=(), value=value, host_scalar=True)
    return Array(dtype=held[0], shape=(), values=held[1], value=value, host_scalar=True)


def _children(node: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What stands in a container, each with the steps of its path: none in a wrapper of one thing."""
    if isinstance(node, Table):
        yield from _named(node.pairs)
    elif isinstance(node, (list, tuple)):
        yield from (((str(index),), item) for index, item in enumerate(node))
    elif isinstance(node, Bag):
        yield from (((str(index),), item) for index, item in enumerate(node.items))
    elif isinstance(node, Made):
        yield from _parts(node)


def _named(pairs: list[tuple[Any, Any]]) -> Iterator[tuple[tuple[str, ...], Any]]:
    last = {key: index for index, (key, _) in enumerate(pairs) if isinstance(key, (str, int))}
    for index, (key, value) in enumerate(pairs):
        if not isinstance(key, (str, int)) or last[key] == index:
            yield (_key(key),), value


def _key(key: Any) -> str:
    if isinstance(key, (str, int, float, bool, bytes)):
        return str(key)[:LONGEST_KEY]
    if isinstance(key, tuple):
        return ",".join(_key(part) if not isinstance(part, tuple) else "()" for part in key[:8])[:LONGEST_KEY]
    return "?"


def _parts(made: Made) -> Iterator[tuple[tuple[str, ...], Any]]:
    if made.name in NOT_LEAVES:
        return
    yield from _arguments(made)
    for table in _states(made):
        if isinstance(table, Table):
            yield from _named(table.pairs)
        elif table is not None:
            yield ("state",), table
    if made.appended:
        yield from (((str(index),), item) for index, item in enumerate(made.appended))
    if made.pairs:
        yield from _named(made.pairs)


def _states(made: Made) -> tuple[Any, ...]:
    """The dictionaries of an object's attributes, or whatever else its state is."""
    if made.name == "collections:OrderedDict":
        return ()  # what torch hangs on its state: the versions of modules
    return made.state if _is_slots(made.state) else (made.state,)


def _is_slots(state: Any) -> bool:
    """Whether this is how objects with `__slots__` give their state: a pair of dictionaries."""
    return (
        isinstance(state, tuple)
        and len(state) == 2  # noqa: PLR2004 (a pair)
        and all(part is None or isinstance(part, Table) for part in state)
    )


def _arguments(made: Made) -> Iterator[tuple[tuple[str, ...], Any]]:
    arguments = made.arguments
    if not isinstance(arguments, tuple):
        yield (), arguments
        return
    name = made.callee.name if isinstance(made.callee, Global) else ""
    if made.name in {"copyreg:_reconstructor", "copy_reg:_reconstructor"} and len(arguments) == 3:  # noqa: PLR2004
        cls, _, arguments = arguments
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        name = cls.name if isinstance(cls, Global) else ""
    fields = FIELDS.get(name)
    if fields is not None and len(fields) == len(arguments):
        yield from (((field,), value) for field, value in zip(fields, arguments, strict=True))
    elif len(arguments) == 1 and isinstance(arguments[0], (Table, list, tuple, Made)):
        yield (), arguments[0]
    else:
        # Numbers and texts that a class is called with are settings of its: an enumeration's value, a time.
        passed_over = (Global, Persistent) if made.new else (Global, Persistent, bool, int, float, complex)
        yield from (
            ((str(index),), value)
            for index, value in enumerate(arguments)
            if not isinstance(value, passed_over)
        )
    if isinstance(made.keywords, Table):
        yield from _named(made.keywords.pairs)
