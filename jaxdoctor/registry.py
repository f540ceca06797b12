"""Folders of plugs: one module a plug, listed without importing any."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from jaxdoctor.errors import UnknownNameError

T = TypeVar("T")


class Folder(Generic[T]):
    """A package in which every module defines exactly one value of one type.

    A module's name with dashes is the plug's name. Adding a plug is adding a file.
    """

    def __init__(self, package: str, kind: type[T], *, noun: str) -> None:
        self.package = package
        self.kind = kind
        self.noun = noun
        """What an error message calls a plug of this folder: "format"."""

        self._names: list[str] | None = None

    def names(self) -> list[str]:
        """Every plug's name, sorted, without importing one."""
        if self._names is None:
            spec = importlib.util.find_spec(self.package)
            assert spec is not None
            found = pkgutil.iter_modules(spec.submodule_search_locations)
            self._names = sorted(module.name.replace("_", "-") for module in found)
        return self._names

    def load(self, name: str) -> T:
        """The plug of that name.

        Raises:
            UnknownNameError: the folder has no such module.
        """
        if name not in self.names():
            raise UnknownNameError(self.noun, name, self.names())
        module = importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
        plugs = [value for value in vars(module).values() if isinstance(value, self.kind)]
        assert len(plugs) == 1, f"{module.__name__} must define exactly one {self.kind.__name__}"
        return plugs[0]

    def load_mentioning(self, words: Iterable[str]) -> Iterator[T]:
        """The plugs whose source holds one of these words, in the order of their names.

        Reading a file is a tenth of importing it.
        """
        wanted = [word.encode() for word in words]
        for name in self.names():
            source = pkgutil.get_data(self.package, f"{name.replace('-', '_')}.py")
            if source is None or any(word in source for word in wanted):
                yield self.load(name)

    def load_all(self) -> Iterator[T]:
        """Every plug, in the order of their names."""
        for name in self.names():
            yield self.load(name)
