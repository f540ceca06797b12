"""What an inert pickle machine builds in place of the objects that a pickle asks for.

None of these compares, hashes or prints its contents: a pickle nests as deep as it likes and holds itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxdoctor.storage.pickles.names import known


class Global:
    """A class or function that a pickle names. It is never looked up."""

    __slots__ = ("full_name", "known", "module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self.full_name = f"{module}:{name}"
        """As in "numpy:dtype"."""

        self.known = known(module, name)


class Made:
    """What calling something would have made: the callee and all that was handed to it."""

    __slots__ = ("appended", "arguments", "callee", "keywords", "new", "pairs", "state")

    def __init__(self, callee: Any, arguments: Any, keywords: Any = None, *, new: bool = True) -> None:
        self.callee = callee
        self.new = new
        """Whether only `__new__` was called, with the fields of a tuple, perhaps."""
        self.arguments = arguments
        self.keywords = keywords
        self.state: Any = None
        """What BUILD would have handed to `__setstate__` or `__dict__`."""

        self.appended: list[Any] | None = None
        self.pairs: list[tuple[Any, Any]] | None = None

    @property
    def name(self) -> str:
        """The callee as "module:name", "" when it is not a plain name."""
        return self.callee.full_name if isinstance(self.callee, Global) else ""


class Table:
    """A dictionary, as the pairs that were set. Keys are whatever the pickle says, hashable or not."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[Any, Any]] | None = None) -> None:
        self.pairs: list[tuple[Any, Any]] = [] if pairs is None else pairs

    def get(self, key: str, default: Any = None) -> Any:
        """The value set last for a text key."""
        found = default
        for name, value in self.pairs:
            if isinstance(name, str) and name == key:
                found = value
        return found

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.pairs)


class Bag:
    """A set."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any] | None = None) -> None:
        self.items: list[Any] = [] if items is None else items


class Payload:
    """A long run of bytes or text that was left in the file."""

    __slots__ = ("kind", "offset", "size")

    def __init__(self, kind: str, offset: int, size: int) -> None:
        self.kind = kind
        """"bytes", or "text" in UTF-8."""

        self.offset = offset
        """In the stream that was read, gzip undone."""

        self.size = size


class Persistent:
    """An object kept outside the pickle, such as a torch storage."""

    __slots__ = ("identity",)

    def __init__(self, identity: Any) -> None:
        self.identity = identity


class Opaque:
    """Something that nothing here needs: an enormous integer, an extension code."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what
