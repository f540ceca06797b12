"""Walks a pickle without doing what it says: every class and function it names becomes an inert stand-in.

Nothing is imported, nothing is called, long runs of bytes stay in the file. CPython's Lib/pickletools.py
documents the opcodes.
"""

from __future__ import annotations

import gc
import math
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.storage.pickles.dtypes import has_objects, width_of
from jaxdoctor.storage.pickles.judge import Judge, Judged
from jaxdoctor.storage.pickles.literals import LITERALS, BadPickleError
from jaxdoctor.storage.pickles.names import as_loaded
from jaxdoctor.storage.pickles.parts import Bag, Global, Made, Opaque, Payload, Persistent, Table
from jaxdoctor.storage.pickles.source import Cursor, ShortError

HIGHEST_PROTOCOL = 5
RENAMED_UNTIL = 3
"""Below this protocol, `pickle.load` maps the names of Python 2 to those of Python 3."""

REACH = 264
"""More bytes than any of the commonest opcodes takes with all that belongs to it."""

BYTE = 255
unpack_float = struct.Struct(">d").unpack_from
unpack_signed = struct.Struct("<i").unpack_from
unpack_number = struct.Struct("<I").unpack_from

CONTAINER_COST = 128
"""Bytes of memory that an empty container, with its place on the stack, costs about."""

MEMO_COST = 96
PLAIN_COST = 36
ITEM_COST, PAIR_COST = 8, 96
DEAREST = {
    **dict.fromkeys(b"(]})dtlcioPQR\x8f\x91\x93\x81\x92\x85\x86\x87", CONTAINER_COST),
    **dict.fromkeys(b"pqr\x94", MEMO_COST),
}
"""What an opcode's result costs, where it is more than `PLAIN_COST`."""

NESTED = "torch.storage:_load_from_bytes"
"""How a torch storage looks that was pickled without `torch.save`: its argument is handed to `torch.load`."""

JOBLIB_ARRAY = "joblib.numpy_pickle:NumpyArrayWrapper"
JOBLIB_CONTENT = "content of the array"
"""The key under which what follows such a description is kept."""

MOST_NAMES = 100_000
"""Different classes and functions that one file may name."""


STOP, FRAME = ord("."), 0x95
MEMOIZE, BINGET, LONG_BINGET, BINPUT, MARK = 0x94, 0x68, 0x6A, 0x71, 0x28
BINFLOAT, BININT1, BININT2, BININT, SHORT_TEXT = 0x47, 0x4B, 0x4D, 0x4A, 0x8C
EMPTY_DICT, EMPTY_LIST, SETITEMS, APPENDS = 0x7D, 0x5D, 0x75, 0x65
NONE, NEWTRUE, NEWFALSE, TUPLE1, TUPLE3 = 0x4E, 0x88, 0x89, 0x85, 0x87
"""The commonest opcodes."""

ADDING, TRUTH = frozenset({SETITEMS, APPENDS}), frozenset({NEWTRUE, NEWFALSE})


NAMING = (str, Global, Made, Persistent, tuple)
"""What of the memo decides on calls."""

NOT_HELD = Opaque("a container that is not held")


class TooManyObjectsError(Exception):
    """The pickle builds more than may be held."""


@dataclass
class Pickled:
    """What one pickle would have built, and what it would have called."""

    root: Any = None
    complete: bool = False
    """Whether STOP was reached. Otherwise `rest` holds what stood unfinished on the stack."""

    rest: list[Any] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    """Every class and function that the stream names, as "module:name"."""

    calls: Counter[str] = field(default_factory=Counter)
    """Those it would have called."""

    judged: Judged = field(default_factory=Judged)
    """What of that is more than building state."""

    persistent: list[Persistent] = field(default_factory=list)
    """Every object kept outside that the stream names."""

    nested: list[Made] = field(default_factory=list)
    """Calls that would load another torch file out of their argument."""

    error: str | None = None
    limited: bool = False
    """Whether the objects are more than may be held: from some point on, only calls were looked for."""

    truncated: bool = False
    end: int = 0
    """The offset behind the pickle."""

    @property
    def dangers(self) -> dict[str, str]:
        """Why some of the names, and of what is done with them, have no place in saved state."""
        return self.judged.dangers


class _Interpreter:
    def __init__(self, cursor: Cursor, allowance: int, judge: Judge) -> None:
        self.cursor = cursor
        self.allowance = allowance
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.judge = judge
        self.found = Pickled(judged=self.judge.found)
        self.globals: dict[tuple[str, str], Global] = {}
        self.version = 0
        self.frame_end = 0
        self.held = 0
        self.until_here = 0
        self.open: set[int] = set()
        """What stood on the stack when no more could be held: these dictionaries are still filled."""

    def run(self) -> None:
        """Follows opcodes until STOP."""
        while not self.one():
            self.many()

    def one(self) -> bool:
        """Follows one opcode, wherever it stands. Whether it was STOP."""
        cursor = self.cursor
        begin = cursor.position
        code = cursor.byte()
        if code == STOP:
            self.found.root = self.pop()
            self.found.complete = True
            return True
        self.held += DEAREST.get(code, PLAIN_COST)
        if self.held > self.allowance:
            self.hold_less()
        literal = LITERALS.get(code)
        if literal is not None:
            self.stack.append(literal(cursor))
        else:
            operation = OPERATIONS.get(code)
            if operation is None:
                if code < 0:
                    raise ShortError
                raise BadPickleError(f"the byte 0x{code:02x} is no opcode")
            operation(self)
        if begin < self.frame_end < cursor.position and code != FRAME:
            self.judge.found.dangers.setdefault(
                "a frame", "an opcode crosses the end of its frame, so that readers differ in what follows"
            )
        return False

    def many(self) -> None:
        """Follows the commonest opcodes while they are far from the end of what was read and of the frame."""
        block, base, place = self.cursor.window()
        end = len(block) - REACH
        if base + place < self.frame_end:
            end = min(end, self.frame_end - base - REACH)
        if place < end:
            self.cursor.move(self.follow(block, place, end))

    def follow(self, block: bytes, place: int, end: int) -> int:  # noqa: C901, PLR0912, PLR0915 (for speed)
        """Follows opcodes from `place` on until one begins behind `end` or is a rare one: where that is."""
        stack, memo, held, limited = self.stack, self.memo, self.held, self.found.limited
        push, outer = stack.append, self.outer
        while place < end:
            code = block[place]
            place += 1
            held += PLAIN_COST
            if code == MEMOIZE and stack:
                memo[len(memo)] = stack[-1] if not limited else self.worth_keeping(stack[-1])
                held += MEMO_COST
            elif code == BINGET and block[place] in memo:
                push(memo[block[place]])
                place += 1
            elif code == LONG_BINGET and (index := unpack_number(block, place)[0]) in memo:
                push(memo[index])
                place += 4
            elif code == BINFLOAT:
                push(unpack_float(block, place)[0])
                place += 8
            elif code == BININT1:
                push(block[place])
                place += 1
            elif code == SHORT_TEXT:
                begin = place + 1
                text = block[begin : begin + block[place]]
                if not text.isascii():
                    place, held = place - 1, held - PLAIN_COST
                    break
                push(text.decode("ascii"))
                place = begin + len(text)
            elif code == MARK:
                outer.append(stack)
                self.stack = stack = []
                push = stack.append
            elif code == SETITEMS and outer and outer[-1] and type(outer[-1][-1]) is Table and not limited:
                items = stack
                if len(items) % 2:
                    place -= 1
                    break
                self.stack = stack = outer.pop()
                push = stack.append
                taken = iter(items)
                stack[-1].pairs.extend(zip(taken, taken, strict=False))
                held += PAIR_COST * len(items) // 2
            elif code == APPENDS and outer and outer[-1] and type(outer[-1][-1]) is list and not limited:
                items = stack
                self.stack = stack = outer.pop()
                push = stack.append
                stack[-1].extend(items)
                held += ITEM_COST * len(items)
            elif code in ADDING and self.outer and self.outer[-1]:
                self.cursor.move(place)
                self.held = held
                self.set_items() if code == SETITEMS else self.extend()
                stack, held = self.stack, self.held
                push = stack.append
            elif code == EMPTY_DICT:
                push(Table())
                held += CONTAINER_COST
            elif code == EMPTY_LIST:
                push([])
                held += CONTAINER_COST
            elif code == BININT2:
                push(block[place] | block[place + 1] << 8)
                place += 2
            elif code == BININT:
                push(unpack_signed(block, place)[0])
                place += 4
            elif code == NONE:
                push(None)
            elif code in TRUTH:
                push(code == NEWTRUE)
            elif code == BINPUT and stack:
                memo[block[place]] = stack[-1] if not limited else self.worth_keeping(stack[-1])
                place += 1
                held += MEMO_COST
            elif TUPLE1 <= code <= TUPLE3 and len(stack) > code - TUPLE1:
                stack[TUPLE1 - code - 1 :] = [tuple(stack[TUPLE1 - code - 1 :])]
                held += CONTAINER_COST
            else:
                place -= 1
                held -= PLAIN_COST
                break
        self.held = held
        if held > self.allowance:
            self.hold_less()
        return place

    def hold_less(self) -> None:
        """Goes on without keeping what containers hold, so that calls are found to the end of the file.

        Raises:
            TooManyObjectsError: that is too much as well.
        """
        if not self.found.limited:
            self.found.limited = True
            self.until_here = self.held
            self.open = {id(value) for level in [*self.outer, self.stack] for value in level}
            self.allowance *= 4
            return
        # What opcodes made since then is gone again, but for what stands on the stack and in the memo.
        kept = len(self.memo) + len(self.stack) + sum(map(len, self.outer)) + len(self.outer)
        self.held = self.until_here + kept * MEMO_COST
        if self.held > self.allowance - self.allowance // 8:
            raise TooManyObjectsError

    def pop(self) -> Any:
        if not self.stack:
            raise BadPickleError("an opcode finds its stack empty")
        return self.stack.pop()

    def top(self) -> Any:
        if not self.stack:
            raise BadPickleError("an opcode finds its stack empty")
        return self.stack[-1]

    def mark(self) -> None:
        self.outer.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        if not self.outer:
            raise BadPickleError("an opcode finds no mark")
        items = self.stack
        self.stack = self.outer.pop()
        return items

    def name(self, module: Any, name: Any) -> Global:
        """A stand-in for what the file calls `module.name`, under the name that `pickle.load` looks up."""
        if not isinstance(module, str) or not isinstance(name, str):
            self.found.dangers["a name built at run time"] = "the name of a class is not a plain text"
            return Global("?", "?")
        if self.version < RENAMED_UNTIL:
            module, name = as_loaded(module, name)
        one = self.globals.get((module, name))
        if one is None:
            if len(self.globals) >= MOST_NAMES:
                raise TooManyObjectsError
            one = self.globals[module, name] = Global(module, name)
        self.judge.named(one)
        self.found.names[one.full_name] += 1
        return one

    def make(self, callee: Any, arguments: Any, keywords: Any = None, *, new: bool = False) -> Any:
        """What a call makes: `new` calls only the `__new__` of a class."""
        if isinstance(callee, Global):
            self.found.calls[callee.full_name] += 1
            inner = _attribute_of_class(callee, arguments)
            if inner is not None:
                return self.name(*inner)
        self.judge.called(callee, arguments, new=new)
        made = Made(callee, arguments, keywords, new=new)
        if made.name == NESTED:
            self.found.nested.append(made)
        return made

    def pop_mark(self) -> None:
        self.since_mark()

    def duplicate(self) -> None:
        self.stack.append(self.top())

    def drop(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    def remember_at_line(self) -> None:
        self.remembered(_line_number(self.cursor))

    def remember(self, width: int) -> None:
        self.remembered(self.cursor.number(width))

    def remembered(self, index: int) -> None:
        """Python's own unpickler makes room for all numbers up to the index."""
        if index > max(self.cursor.size, BYTE):
            self.found.dangers["a memo index"] = (
                f"{index} is more than the {self.cursor.size:,} bytes of the file need"
            )
        self.memo[index] = self.worth_keeping(self.top())

    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.worth_keeping(self.top())

    def worth_keeping(self, value: Any) -> Any:
        """It, or a stand-in for a container whose content is not held."""
        return value if not self.found.limited or isinstance(value, NAMING) else NOT_HELD

    def recall_at_line(self) -> None:
        self.recalled(_line_number(self.cursor))

    def recall(self, width: int) -> None:
        self.recalled(self.cursor.number(width))

    def recalled(self, index: int) -> None:
        if index not in self.memo:
            raise BadPickleError(f"the memo holds nothing at {index}")
        self.stack.append(self.memo[index])

    def make_list(self) -> None:
        items = self.since_mark()
        self.stack.append(items)

    def make_tuple(self) -> None:
        items = tuple(self.since_mark())
        self.stack.append(items)

    def make_short_tuple(self, size: int) -> None:
        if len(self.stack) < size:
            raise BadPickleError("an opcode finds its stack empty")
        self.stack[-size:] = [tuple(self.stack[-size:])]

    def make_table(self) -> None:
        items = self.since_mark()
        self.stack.append(Table(_pairs(items)))

    def make_frozen_set(self) -> None:
        items = self.since_mark()
        self.stack.append(Bag(items))

    def append(self) -> None:
        value = self.pop()
        self.judge.changed(self.top())
        self.extended(self.top(), [value])

    def extend(self) -> None:
        items = self.since_mark()
        self.judge.changed(self.top())
        self.extended(self.top(), items)

    def set_item(self) -> None:
        value = self.pop()
        key = self.pop()
        self.judge.changed(self.top())
        self.updated(self.top(), [(key, value)])

    def set_items(self) -> None:
        items = self.since_mark()
        self.judge.changed(self.top())
        self.updated(self.top(), _pairs(items))

    def extended(self, target: Any, items: list[Any]) -> None:
        """Adds items, as long as they may be held."""
        self.held += ITEM_COST * len(items)
        _extend(target, [] if self.found.limited else items)

    def updated(self, target: Any, pairs: list[tuple[Any, Any]]) -> None:
        """Sets keys, as long as they may be held."""
        self.held += PAIR_COST * len(pairs)
        _update(target, pairs if not self.found.limited or id(target) in self.open else [])

    def global_lines(self) -> None:
        module, name = _line_text(self.cursor), _line_text(self.cursor)
        self.stack.append(self.name(module, name))

    def stack_global(self) -> None:
        name, module = self.pop(), self.pop()
        self.stack.append(self.name(module, name))

    def extension(self, width: int) -> None:
        code = self.cursor.number(width)
        self.found.dangers[f"extension code {code}"] = "what it names is chosen by the machine that loads it"
        self.stack.append(Opaque("an extension code"))

    def reduce(self) -> None:
        arguments, callee = self.pop(), self.pop()
        self.stack.append(self.make(callee, arguments))

    def new_object(self) -> None:
        arguments, callee = self.pop(), self.pop()
        self.stack.append(self.make(callee, arguments, new=True))

    def new_object_with_keywords(self) -> None:
        keywords, arguments, callee = self.pop(), self.pop(), self.pop()
        self.stack.append(self.make(callee, arguments, keywords, new=True))

    def build(self) -> None:
        state = self.pop()
        target = self.top()
        self.judge.built(target, state)
        if isinstance(target, Made):
            target.state = state
            if target.name == JOBLIB_ARRAY and isinstance(state, Table):
                self.follow_array(state)

    def follow_array(self, about: Table) -> None:
        """Joblib writes an array's bytes, or the pickle of one of objects, right behind its description."""
        self.frame_end = 0
        kind = about.get("dtype")
        axes = about.get("shape")
        if not isinstance(axes, tuple) or not all(type(axis) is int and axis >= 0 for axis in axes):
            raise BadPickleError("an array of joblib has no shape")
        if has_objects(kind):
            inner = read_pickle(self.cursor, self.allowance - self.held, self.judge)
            self.found.names += inner.names
            self.found.calls += inner.calls
            about.pairs.append((JOBLIB_CONTENT, inner.root))
            if not inner.complete:
                raise BadPickleError(f"in an array of objects, {inner.error}")
            return
        width = width_of(kind)
        if width is None:
            raise BadPickleError("an array of joblib is of a type that is not known")
        if about.get("numpy_array_alignment_bytes") is not None:
            self.cursor.skip(self.cursor.number(1))
        size = math.prod(axes) * width
        about.pairs.append((JOBLIB_CONTENT, Payload("bytes", self.cursor.skip(size), size)))

    def instance(self) -> None:
        callee = self.name(_line_text(self.cursor), _line_text(self.cursor))
        arguments = tuple(self.since_mark())
        self.stack.append(self.make(callee, arguments, new=not arguments))

    def object(self) -> None:
        items = self.since_mark()
        if not items:
            raise BadPickleError("an object without a class")
        self.stack.append(self.make(items[0], tuple(items[1:]), new=len(items) == 1))

    def persistent_line(self) -> None:
        self.keep_outside(_line_text(self.cursor))

    def persistent(self) -> None:
        self.keep_outside(self.pop())

    def keep_outside(self, identity: Any) -> None:
        """A stand-in for an object outside of the pickle."""
        self.stack.append(Persistent(identity))
        self.found.persistent.append(self.stack[-1])

    def protocol(self) -> None:
        version = self.cursor.number(1)
        if version > HIGHEST_PROTOCOL:
            raise BadPickleError(f"protocol {version} does not exist")
        self.version = version

    def frame(self) -> None:
        size = self.cursor.number(8)
        begin = self.cursor.position
        if begin < self.frame_end:
            self.found.dangers["a frame"] = "it begins within another one"
        self.frame_end = begin + size

    def nothing(self) -> None:
        """READONLY_BUFFER changes what the top of the stack may be used for, not what it is."""


def _pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    if len(items) % 2:
        raise BadPickleError("a key without its value")
    return list(zip(items[::2], items[1::2], strict=True))


def _extend(target: Any, items: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(items)
    elif isinstance(target, Bag):
        target.items.extend(items)
    elif isinstance(target, Made):
        if target.appended is None:
            target.appended = []
        target.appended.extend(items)
    elif not isinstance(target, Opaque):
        raise BadPickleError("an item is added to what takes none")


def _update(target: Any, pairs: list[tuple[Any, Any]]) -> None:
    if isinstance(target, Table):
        target.pairs.extend(pairs)
    elif isinstance(target, Made):
        if target.pairs is None:
            target.pairs = []
        target.pairs.extend(pairs)
    elif not isinstance(target, Opaque):
        raise BadPickleError("a key is set in what takes none")


def _attribute_of_class(callee: Global, arguments: Any) -> tuple[str, str] | None:
    """Protocols below 4 spell `Outer.Inner` as a call of getattr: the name that it gives."""
    if callee.full_name != "builtins:getattr" or not isinstance(arguments, tuple) or len(arguments) != 2:  # noqa: PLR2004
        return None
    outer, attribute = arguments
    if isinstance(outer, Global) and isinstance(attribute, str):
        return outer.module, f"{outer.name}.{attribute}"
    return None


def _line_text(cursor: Cursor) -> str:
    return cursor.line().decode("utf-8", "replace")


def _line_number(cursor: Cursor) -> int:
    line = cursor.line()
    if not line.isdigit() or len(line) > len(str(1 << 64)):
        raise BadPickleError("a memo index that is no number")
    return int(line)


OPERATIONS: dict[int, Callable[[_Interpreter], None]] = {
    ord("("): _Interpreter.mark,
    ord("0"): _Interpreter.drop,
    ord("1"): _Interpreter.pop_mark,
    ord("2"): _Interpreter.duplicate,
    ord("p"): _Interpreter.remember_at_line,
    ord("q"): lambda machine: machine.remember(1),
    ord("r"): lambda machine: machine.remember(4),
    0x94: _Interpreter.memoize,
    ord("g"): _Interpreter.recall_at_line,
    ord("h"): lambda machine: machine.recall(1),
    ord("j"): lambda machine: machine.recall(4),
    ord("l"): _Interpreter.make_list,
    ord("t"): _Interpreter.make_tuple,
    0x85: lambda machine: machine.make_short_tuple(1),
    0x86: lambda machine: machine.make_short_tuple(2),
    0x87: lambda machine: machine.make_short_tuple(3),
    ord("d"): _Interpreter.make_table,
    0x91: _Interpreter.make_frozen_set,
    ord("a"): _Interpreter.append,
    ord("e"): _Interpreter.extend,
    0x90: _Interpreter.extend,
    ord("s"): _Interpreter.set_item,
    ord("u"): _Interpreter.set_items,
    ord("c"): _Interpreter.global_lines,
    0x93: _Interpreter.stack_global,
    0x82: lambda machine: machine.extension(1),
    0x83: lambda machine: machine.extension(2),
    0x84: lambda machine: machine.extension(4),
    ord("R"): _Interpreter.reduce,
    0x81: _Interpreter.new_object,
    0x92: _Interpreter.new_object_with_keywords,
    ord("b"): _Interpreter.build,
    ord("i"): _Interpreter.instance,
    ord("o"): _Interpreter.object,
    ord("P"): _Interpreter.persistent_line,
    ord("Q"): _Interpreter.persistent,
    0x80: _Interpreter.protocol,
    0x95: _Interpreter.frame,
    0x98: _Interpreter.nothing,
}
"""What every opcode that is no literal does to the machine."""


def read_pickle(cursor: Cursor, allowance: int, judge: Judge | None = None) -> Pickled:
    """One pickle from where the cursor stands. What is wrong with it is said in the result, never raised.

    Args:
        cursor: stands at the pickle's first byte, and behind its last one afterwards.
        allowance: bytes of memory that its objects may take, about.
        judge: of the pickle that this one stands in.
    """
    machine = _Interpreter(cursor, allowance, judge or Judge())
    found = machine.found
    collecting = gc.isenabled()
    # Nothing that is built here is garbage before the end, and looking for it costs more than the walk.
    gc.disable()
    try:
        machine.run()
    except ShortError:
        found.truncated, found.error = True, "it ends in the middle"
    except BadPickleError as error:
        found.error = str(error)
    except UnicodeDecodeError:
        found.error = "a text is not what its encoding allows"
    except RecursionError:
        found.error = "pickles stand in pickles, again and again"
    except TooManyObjectsError:
        found.error = f"its objects need more than the {allowance:,} bytes of memory that they may take"
    finally:
        if collecting:
            gc.enable()
    if not found.complete:
        found.rest = [item for level in [*machine.outer, machine.stack] for item in level]
    found.end = cursor.position
    return found
