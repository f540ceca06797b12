"""Judges what a pickle names and calls, call by call, as `pickle.load` would carry it out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.storage.pickles.calls import written
from jaxdoctor.storage.pickles.names import (
    ATTRIBUTES,
    BASES,
    CALLABLES,
    CARRIERS,
    NEW,
    PASSIVE,
    Known,
    Standing,
    is_class,
    is_cython,
)
from jaxdoctor.storage.pickles.parts import Global, Made, Payload, Persistent, Table

ENCODINGS = frozenset({"latin1", "latin-1", "iso-8859-1"})
"""Protocols below 3 spell bytes as text in this encoding. Another name makes Python import what it spells."""

HOOKS = frozenset(
    {"__setstate__", "__class__", "__dict__", "append", "extend", "add", "update", "__setitem__"}
)
"""Attributes of an object that the unpickler itself calls, when the file sets them."""

COMMAND = re.compile(r"[\s;|&$`<>(){}]|://")
"""What stands in commands, code and addresses, and not in the values of an enumeration."""

TYPES = frozenset(
    {"_builtin_type", "_load_type", "_create_type", "_make_skeleton_class", "_make_skeleton_enum"}
)
"""What of cloudpickle and dill gives a class, to be called next."""

MOST_WANTED = 10_000
"""Different calls that are told of one file."""


@dataclass
class Judged:
    """What one pickle would do beyond building state."""

    dangers: dict[str, str] = field(default_factory=dict)
    """Why a name, or what is done with it, has no place in saved state."""

    carried: Counter[str] = field(default_factory=Counter)
    """What makes functions or classes out of code in the file."""

    unknown: Counter[str] = field(default_factory=Counter)
    """Classes and functions that are only named or built, and not known."""

    calls: dict[str, str] = field(default_factory=dict)
    """Each call that is no known one, as it would be written in Python: its first."""


class Judge:
    """Is told of every name and call, in the order of the file."""

    def __init__(self) -> None:
        self.found = Judged()

    def named(self, one: Global) -> None:
        """The file names it."""
        if one.known.standing is Standing.REFUSED:
            self.found.dangers.setdefault(one.full_name, one.known.reason)
        elif one.known.standing is Standing.CARRIED:
            self.found.carried[one.full_name] += 1
        elif one.known.standing is Standing.UNKNOWN:
            self.found.unknown[one.full_name] += 1

    def called(self, callee: Any, arguments: Any, *, new: bool) -> None:
        """The file calls something; `new`: only its `__new__`."""
        outside = class_kept_outside(callee)
        if outside is not None:
            callee, new = outside, True
        if not isinstance(callee, Global):
            self._called_result(callee, arguments)
            return
        reason = self._reason(callee, arguments, new=new)
        if reason is not None:
            self.found.dangers[callee.full_name] = reason
        if reason is not None or callee.known.standing is not Standing.STATE:
            self.note_call(callee.full_name, callee, arguments)

    def note_call(self, name: str, callee: Any, arguments: Any) -> None:
        """Keeps a call as it would be written."""
        if name not in self.found.calls and len(self.found.calls) < MOST_WANTED:
            self.found.calls[name] = written(callee, arguments)

    def built(self, target: Any, state: Any) -> None:
        """The file sets the state of something."""
        if isinstance(target, Global):
            self.found.dangers[target.full_name] = "its attributes are set, for the whole process"
        for key, value in _pairs_of(state):
            if key in HOOKS and isinstance(value, (Global, Made)):
                self.found.dangers[f"attribute {key}"] = (
                    f"{written(value, None)} is put where the unpickler calls it"
                )

    def changed(self, target: Any) -> None:
        """The file adds an item to something."""
        if isinstance(target, Global):
            self.found.dangers[target.full_name] = "items are added to it, for the whole process"

    def _called_result(self, callee: Any, arguments: Any) -> None:
        if isinstance(callee, Made) and isinstance(callee.callee, Global):
            maker = callee.callee
            if maker.known.standing is Standing.CARRIED and maker.name.rpartition(".")[2] in TYPES:
                return
            if maker.known.current == "functools:partial" and _makes_new(callee.arguments) and not arguments:
                return
        text = written(callee, None)
        self.found.dangers[f"the result of {text}"[:200]] = "the file calls what it built"
        self.note_call(f"the result of {text}"[:200], callee, arguments)

    def _reason(  # noqa: PLR0911 (one for each standing)
        self, callee: Global, arguments: Any, *, new: bool
    ) -> str | None:
        """Why this call is refused."""
        about = callee.known
        if about.standing is Standing.REFUSED:
            return about.reason
        if about.standing is Standing.CARRIED:
            return None
        if about.standing is Standing.GETATTR:
            return _reaches(arguments) if callee.name == "getattr" else _sets(arguments)
        if callee.known.current in NEW:
            return _new_reason(callee, arguments)
        if new:
            return None
        if about.standing is Standing.STATE and about.given is not None:
            return _misused(callee, about, arguments)
        return _unknown_reason(callee, arguments)


def class_kept_outside(callee: Any) -> Global | None:
    """Torch's legacy files keep classes of modules beside their pickle, with their source."""
    identity = callee.identity if isinstance(callee, Persistent) else None
    if isinstance(identity, tuple) and len(identity) > 1 and identity[0] == "module":
        return identity[1] if isinstance(identity[1], Global) else None
    return None


def _makes_new(arguments: Any) -> bool:
    """How protocols below 4 hand keywords to a class: `partial(Class.__new__, Class, ...)()`."""
    return _first_class(arguments) and arguments[0].name.endswith(".__new__")


def _unknown_reason(callee: Global, arguments: Any) -> str | None:
    if is_cython(callee.name) and _first_class(arguments):
        return None
    if not _type_like(callee):
        return "it is a function that is not known to build state"
    if not callee.name.endswith(("Error", "Exception", "Warning")) and any(map(_commands, _flat(arguments))):
        return "it is a class that is not known, and is given what looks like a command"
    return None


def _first_class(arguments: Any) -> bool:
    return isinstance(arguments, tuple) and bool(arguments) and isinstance(arguments[0], Global)


def _flat(arguments: Any) -> list[Any]:
    """The arguments, and the items of those that are lists."""
    found: list[Any] = []
    for one in arguments if isinstance(arguments, tuple) else ():
        found += one[:16] if isinstance(one, (list, tuple)) else [one]
    return found


def _commands(value: Any) -> bool:
    return isinstance(value, str) and bool(COMMAND.search(value))


def _new_reason(callee: Global, arguments: Any) -> str | None:
    """`_reconstructor` calls the base class that it is given."""
    if not isinstance(arguments, tuple) or not arguments or not isinstance(arguments[0], Global):
        return "it is not given a class"
    if callee.name != "_reconstructor":
        return None
    base = arguments[1] if len(arguments) > 1 else None
    if isinstance(base, Global) and base.full_name not in BASES:
        return f"it is told to call {base.full_name[:200]}"
    return None if isinstance(base, Global) else "it is not told on which class"


def _reaches(arguments: Any) -> str | None:
    """An attribute of a built object is a method of its; of anything else, it is whatever the file wants."""
    if isinstance(arguments, tuple) and len(arguments) == 2 and isinstance(arguments[0], Made):  # noqa: PLR2004
        attribute = arguments[1]
        if isinstance(attribute, str) and attribute.isidentifier() and not attribute.startswith("__"):
            return None
    return "it reaches for an attribute"


def _sets(arguments: Any) -> str | None:
    """Dill tells a class that it made what it was called."""
    if isinstance(arguments, tuple) and len(arguments) == 3 and isinstance(arguments[0], Made):  # noqa: PLR2004
        target, attribute, value = arguments
        if (
            _made_code(target)
            and attribute in {"__qualname__", "__module__", "__doc__"}
            and isinstance(value, str)
        ):
            return None
    return "it sets an attribute"


def _misused(callee: Global, about: Known, arguments: Any) -> str | None:
    """Whether a known call is given what it never was: a function, a class, a text."""
    if not isinstance(arguments, tuple):
        return "its arguments are not known"
    given = about.given or ()
    for place, value in enumerate(arguments):
        kind = kind_of(value)
        if not kind:
            continue
        allowed = given[min(place, len(given) - 1)] if given else ""
        if kind in allowed.split() or _is_rebuilt(callee, value):
            continue
        # Python 2 writes the element type of an array, b"b", as a text: one letter names nothing.
        if (isinstance(value, str) and len(value) <= 1) or _names_generator(callee, value):
            continue
        if callee.known.current in PASSIVE and kind != "t" and not _hands_getattr(value):
            continue
        if _type_like(callee) and (kind == "c" or (kind == "t" and not _commands(value))):
            continue
        return f"it is given {written(value, None)}, which no library gives it"
    if callee.known.current == "_codecs:encode" and not (len(arguments) > 1 and arguments[1] in ENCODINGS):
        return "it is told an encoding that no pickle uses"
    return None


def _names_generator(callee: Global, value: Any) -> bool:
    """NumPy before 2.0 saves a random generator with the name of its kind, and the function that makes it."""
    if callee.module != "numpy.random._pickle":
        return False
    maker = isinstance(value, Global) and value.known.current == "numpy.random._pickle:__bit_generator_ctor"
    return maker or (isinstance(value, str) and value in GENERATORS)


GENERATORS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"})


def _hands_getattr(value: Any) -> bool:
    return isinstance(value, Global) and value.known.standing is Standing.GETATTR


def _is_rebuilt(callee: Global, value: Any) -> bool:
    """Torch saves a subclass of its tensors with the name of its own function that rebuilds the tensor."""
    return (
        callee.known.current in REBUILDS
        and isinstance(value, Global)
        and value.known.standing is Standing.STATE
        and value.full_name.startswith("torch._utils:_rebuild_")
    )


def kind_of(value: Any) -> str:
    """What matters of an argument: "t" a text, "c" a class, "=module:name" a function, "" anything else."""
    if isinstance(value, str) or (isinstance(value, Payload) and value.kind != "bytes"):
        return "t"
    if isinstance(value, Global):
        return "c" if _type_like(value) else f"={value.known.current}"
    if isinstance(value, Made):
        return "=call" if value.name in CALLABLES or value.name in ATTRIBUTES or _made_code(value) else ""
    return ""


def _made_code(value: Made) -> bool:
    return isinstance(value.callee, Global) and bool(CARRIERS.fullmatch(value.callee.module))


def _type_like(value: Global) -> bool:
    """Whether it is a class, as far as its name says, or one of those whose names are written small."""
    if is_class(value.name) or value.known.current in BASES or value.known.current in SMALL:
        return True
    return value.module == "torch" and bool(TORCH_VALUES.match(value.name))


REBUILDS = frozenset({"torch._tensor:_rebuild_from_type_v2"})
TORCH_VALUES = re.compile(
    r"(b?float\d*(_\w+)?|u?int\d+|c?(complex|half|double|float)\d*|bool|long|short|qu?int\w+|bits\w+|strided|sparse_\w+"
    r"|jagged|per_\w+|channels_last\w*|preserve_format|contiguous_format)\Z"
)
"""Element types, layouts and the like: no functions, though written small."""

SMALL = frozenset(
    [
        "builtins:bool",
        "builtins:bytearray",
        "builtins:type",
        "builtins:slice",
        "builtins:range",
        "numpy:ndarray",
        "numpy:dtype",
    ]
    + [f"numpy:{kind}{bits}" for kind in ("int", "uint", "float", "complex") for bits in (8, 16, 32, 64, 128)]
    + [
        "numpy:bool",
        "numpy:bool_",
        "numpy:str_",
        "numpy:bytes_",
        "numpy:object_",
        "numpy:void",
        "numpy:datetime64",
    ]
    + [
        "numpy:timedelta64",
        "numpy:longdouble",
        "numpy:record",
        "numpy:recarray",
        "numpy:matrix",
        "numpy:generic",
    ]
)


def _pairs_of(state: Any) -> list[tuple[Any, Any]]:
    tables = [part for part in (state if isinstance(state, tuple) else (state,)) if isinstance(part, Table)]
    return [(key, value) for table in tables for key, value in table.pairs if isinstance(key, str)]
