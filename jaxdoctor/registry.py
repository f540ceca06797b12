"""Folders of plugs: one module a plug, listed without importing any."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from typing import Generic, TypeVar

from jaxdoctor.errors import UnknownNameError

T = TypeVar("T")


class Folder(Generic[T]):
    """A package in which every module defines exactly one value of one type.

    A module's name with dashes is the plug's name. Adding a plug is adding a file. With `families`
    the plugs stand one folder deeper, and modules directly in the package are no plugs.
    """

    def __init__(self, package: str, kind: type[T], *, noun: str, families: bool = False) -> None:
        self.package = package
        self.kind = kind
        self.noun = noun
        """What an error message calls a plug of this folder: "format"."""

        self.families = families
        self._modules: dict[str, str] | None = None

    def names(self, *families: str) -> list[str]:
        """Every plug's name, or those of these families, sorted, without importing one."""
        modules = self._found()
        wanted = {f"{self.package}.{family}" for family in families}
        return [name for name in modules if not wanted or modules[name].rpartition(".")[0] in wanted]

    def family(self, name: str) -> str:
        """The folder in which the plug of that name stands."""
        return self._found()[name].split(".")[-2]

    def _found(self) -> dict[str, str]:
        """Each plug's name with the module that defines it."""
        if self._modules is None:
            found = {
                module.rpartition(".")[2].replace("_", "-"): module
                for package in self._packages()
                for module in _modules_in(package)
            }
            self._modules = dict(sorted(found.items()))
        return self._modules

    def _packages(self) -> list[str]:
        if not self.families:
            return [self.package]
        spec = importlib.util.find_spec(self.package)
        assert spec is not None
        return [
            f"{self.package}.{module.name}"
            for module in pkgutil.iter_modules(spec.submodule_search_locations)
            if module.ispkg
        ]

    def load(self, name: str) -> T:
        """The plug of that name.

        Raises:
            UnknownNameError: the folder has no such module.
        """
        if name not in self._found():
            raise UnknownNameError(self.noun, name, self.names())
        module = importlib.import_module(self._found()[name])
        plugs = [value for value in vars(module).values() if isinstance(value, self.kind)]
        assert len(plugs) == 1, f"{module.__name__} must define exactly one {self.kind.__name__}"
        return plugs[0]

    def load_all(self, *families: str) -> Iterator[T]:
        """Every plug, or those of these families, in the order of their names."""
        for name in self.names(*families):
            yield self.load(name)


def _modules_in(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(spec.submodule_search_locations)]
