"""Walks a pickle without doing what it says: every class and function it names becomes an inert stand-in.

Nothing is imported, nothing is called, long runs of bytes stay in the file. CPython's Lib/pickletools.py
documents the opcodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.storage.pickles.dangerous_names import danger
from jaxdoctor.storage.pickles.literals import LITERALS, BadPickleError
from jaxdoctor.storage.pickles.parts import Bag, Global, Made, Opaque, Persistent, Table
from jaxdoctor.storage.pickles.source import Cursor, ShortError

HIGHEST_PROTOCOL = 5
CONTAINER_COST = 160
"""Bytes of memory that an empty container, with its place on the stack, costs about."""

MEMO_COST = 120
PLAIN_COST = 40
DEAREST = {
    **dict.fromkeys(b"(]})dtlcioPQR\x8f\x91\x93\x81\x92\x85\x86\x87", CONTAINER_COST),
    **dict.fromkeys(b"pqr\x94", MEMO_COST),
}
"""What an opcode's result costs, where it is more than `PLAIN_COST`."""

NESTED = "torch.storage:_load_from_bytes"
"""How a torch storage looks that was pickled without `torch.save`: its argument is handed to `torch.load`."""

MOST_NAMES = 100_000
"""Different classes and functions that one file may name."""


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

    dangers: dict[str, str] = field(default_factory=dict)
    """Why some of the names have no place in saved state."""

    persistent: list[Persistent] = field(default_factory=list)
    """Every object kept outside that the stream names."""

    nested: list[Made] = field(default_factory=list)
    """Calls that would load another torch file out of their argument."""

    error: str | None = None
    truncated: bool = False
    end: int = 0
    """The offset behind the pickle."""


class _Interpreter:
    def __init__(self, cursor: Cursor, allowance: int) -> None:
        self.cursor = cursor
        self.allowance = allowance
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.found = Pickled()
        self.globals: dict[tuple[str, str], Global] = {}

    def run(self) -> None:
        """Follows opcodes until STOP."""
        cursor = self.cursor
        held = 0
        while True:
            code = cursor.byte()
            if code == STOP:
                self.found.root = self.pop()
                self.found.complete = True
                return
            held += DEAREST.get(code, PLAIN_COST)
            if held > self.allowance:
                raise TooManyObjectsError
            literal = LITERALS.get(code)
            if literal is not None:
                self.stack.append(literal(cursor))
                continue
            operation = OPERATIONS.get(code)
            if operation is None:
                if code < 0:
                    raise ShortError
                raise BadPickleError(f"the byte 0x{code:02x} is no opcode")
            operation(self)

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
        """A stand-in for what the file calls `module.name`."""
        if not isinstance(module, str) or not isinstance(name, str):
            self.found.dangers["a name built at run time"] = "the name of a class is not a plain text"
            return Global("?", "?")
        known = self.globals.get((module, name))
        if known is None:
            if len(self.globals) >= MOST_NAMES:
                raise TooManyObjectsError
            known = self.globals[module, name] = Global(module, name)
            reason = danger(module, name)
            if reason is not None:
                self.found.dangers[known.full_name] = reason
        self.found.names[known.full_name] += 1
        return known

    def make(self, callee: Any, arguments: Any, keywords: Any = None) -> Made:
        if isinstance(callee, Global):
            self.found.calls[callee.full_name] += 1
        made = Made(callee, arguments, keywords)
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
        self.memo[_line_number(self.cursor)] = self.top()

    def remember(self, width: int) -> None:
        self.memo[self.cursor.number(width)] = self.top()

    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.top()

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
        _extend(self.top(), [value])

    def extend(self) -> None:
        items = self.since_mark()
        _extend(self.top(), items)

    def set_item(self) -> None:
        value = self.pop()
        key = self.pop()
        _update(self.top(), [(key, value)])

    def set_items(self) -> None:
        items = self.since_mark()
        _update(self.top(), _pairs(items))

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

    def new_object_with_keywords(self) -> None:
        keywords, arguments, callee = self.pop(), self.pop(), self.pop()
        self.stack.append(self.make(callee, arguments, keywords))

    def build(self) -> None:
        state = self.pop()
        target = self.top()
        if isinstance(target, Made):
            target.state = state

    def instance(self) -> None:
        callee = self.name(_line_text(self.cursor), _line_text(self.cursor))
        arguments = tuple(self.since_mark())
        self.stack.append(self.make(callee, arguments))

    def object(self) -> None:
        items = self.since_mark()
        if not items:
            raise BadPickleError("an object without a class")
        self.stack.append(self.make(items[0], tuple(items[1:])))

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

    def frame(self) -> None:
        self.cursor.number(8)

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


def _line_text(cursor: Cursor) -> str:
    return cursor.line().decode("utf-8", "replace")


def _line_number(cursor: Cursor) -> int:
    line = cursor.line()
    if not line.isdigit() or len(line) > len(str(1 << 64)):
        raise BadPickleError("a memo index that is no number")
    return int(line)


STOP = ord(".")
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
    0x81: _Interpreter.reduce,
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
"""What every opcode that is no literal does to the machine. NEWOBJ is REDUCE with a class."""


def read_pickle(cursor: Cursor, allowance: int) -> Pickled:
    """One pickle from where the cursor stands. What is wrong with it is said in the result, never raised.

    Args:
        cursor: stands at the pickle's first byte, and behind its last one afterwards.
        allowance: bytes of memory that its objects may take, about.
    """
    machine = _Interpreter(cursor, allowance)
    found = machine.found
    try:
        machine.run()
    except ShortError:
        found.truncated, found.error = True, "it ends in the middle"
    except BadPickleError as error:
        found.error = str(error)
    except UnicodeDecodeError:
        found.error = "a text is not what its encoding allows"
    except TooManyObjectsError:
        found.error = f"its objects need more than the {allowance} bytes of memory that they may take"
    if not found.complete:
        found.rest = [item for level in [*machine.outer, machine.stack] for item in level]
    found.end = cursor.position
    return found
