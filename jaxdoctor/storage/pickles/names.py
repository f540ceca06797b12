"""What is known of the classes and functions that a pickle names: what builds state, and what does more.

Nothing is silent but what stands in `known_names.json`, which holds what real libraries were seen to write;
a script in tests/fixtures/ makes it from their files.
"""

from __future__ import annotations

import enum
import json
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


class Standing(enum.Enum):
    """What a name in a pickle means for who loads it."""

    STATE = "state"
    """A library was seen to save it."""

    CARRIED = "carried"
    """Makes functions or classes out of code that the file carries."""

    UNKNOWN = "unknown"
    """A class or a function of a package that is not known."""

    GETATTR = "getattr"
    """Reaches or sets an attribute: what that means depends on what it is given."""

    REFUSED = "refused"
    """Nothing that a checkpoint needs."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one name."""

    standing: Standing
    current: str
    """As in "numpy:dtype": what today's releases call it."""

    reason: str = ""
    """Why it is refused."""

    given: tuple[str, ...] | None = None
    """What each argument of a call was seen to be, beside numbers, containers and objects.

    "t" is a text, "c" a class, "=module:name" that function. None: it was never seen called.
    """


REACHES = frozenset(
    [
        "IPython", "aiohttp", "boto3", "botocore", "cffi", "dask", "distributed", "docker", "execnet",
        "fabric", "fickling", "gevent", "httpx", "invoke", "ipykernel", "keyring", "modelaudit",
        "modelscan", "paramiko", "pexpect", "picklescan", "pip", "pkg_resources", "plumbum", "psutil",
        "ptyprocess", "pyautogui", "pymysql", "ray", "requests", "scapy", "selenium", "setuptools", "sh",
        "smart_open", "tornado", "twisted", "urllib3", "uvloop", "websocket", "websockets", "wheel",
        "win32api", "win32com", "wmi", "xonsh", "yaml",
    ]
)  # fmt: skip
"""Packages that start processes, open connections, load code or switch scanners off."""

REACHING = (
    "joblib.externals.loky", "joblib.memory", "joblib.parallel", "numpy.distutils", "numpy.f2py",
    "numpy.testing", "pandas.io", "torch._dynamo", "torch._inductor", "torch.distributed.elastic",
    "torch.distributed.launch", "torch.distributed.run", "torch.hub", "torch.multiprocessing",
    "torch.utils._config_module", "torch.utils.bottleneck", "torch.utils.collect_env",
    "torch.utils.cpp_extension",
)  # fmt: skip
"""The same of parts of packages that are known."""

FORMER_LIBRARY = frozenset(
    [
        "__builtin__", "asynchat", "asyncore", "cgi", "cgitb", "distutils", "httplib", "imp", "lib2to3",
        "msilib", "nntplib", "nt", "pipes", "popen2", "posix", "smtpd", "telnetlib", "urllib2", "xmlrpclib",
        "_aix_support", "_bootsubprocess", "_osx_support", "_pyrepl",
    ]
)  # fmt: skip
"""Modules of the standard library of another Python or system. Any other function is refused when called."""

CARRIERS = re.compile(
    r"(?:\w+\.)*(?:cloudpickle(?:\.cloudpickle|\.cloudpickle_fast)?|dill(?:\._dill)?|numba\.core\.serialize)"
)
"""Modules that save functions as code, also where another package brings its own copy."""

LOADS = frozenset(
    {
        "_create_filehandle", "_eval_repr", "_get_attr", "_locate_function", "dump", "dumps", "load",
        "loads", "load_module", "load_module_asdict", "load_session", "dump_session", "dump_module",
        "_getattribute", "_lookup_module_and_qualname", "_open", "copy", "pickles", "check",
    }
)  # fmt: skip
"""What of those reaches further than to a function that stands in the file itself."""

FORMER = {
    "jax.array:_reconstruct_array": "jax._src.array:_reconstruct_array",
    "jax._src.device_array:reconstruct_device_array": "jax._src.array:_reconstruct_array",
    "jax.interpreters.xla:reconstruct_device_array": "jax._src.array:_reconstruct_array",
    "numpy._core._internal:_reconstruct": "numpy._core.multiarray:_reconstruct",
    "numpy.random:__RandomState_ctor": "numpy.random._pickle:__randomstate_ctor",
    "numpy.random._pickle:__RandomState_ctor": "numpy.random._pickle:__randomstate_ctor",
    "torch.tensor:_rebuild_from_type": "torch._tensor:_rebuild_from_type_v2",
    "torch._tensor:_rebuild_from_type": "torch._tensor:_rebuild_from_type_v2",
    "torch._utils:_rebuild_tensor": "torch._utils:_rebuild_tensor_v2",
    "torch._utils:_rebuild_parameter_with_state": "torch._utils:_rebuild_parameter",
}
"""What releases before those that wrote the known files called the same function."""

SCRIPTS = "__torch__."
"""The classes of a TorchScript, which stand in the archive itself. No module is called so."""

DILL_MAIN = frozenset({"__builtin__:__main__", "builtins:__main__"})
"""How dill names the variables of the process that loads it."""

ATTRIBUTES = frozenset({"builtins:getattr", "builtins:setattr"})

PASSIVE = frozenset({"functools:partial", "collections:defaultdict"})
"""They keep what they are given, and call it later than a load."""

CALLABLES = frozenset({"functools:partial", "operator:itemgetter", "operator:attrgetter"})
"""What they build can be called."""

NEW = frozenset({"copyreg:_reconstructor", "copyreg:__newobj__", "copyreg:__newobj_ex__"})
"""They make an object of the class that they are given, without calling its `__init__`."""

BASES = frozenset(
    f"builtins:{name}"
    for name in (
        "object",
        "dict",
        "list",
        "tuple",
        "set",
        "frozenset",
        "int",
        "float",
        "complex",
        "str",
        "bytes",
    )
)
"""What `_reconstructor` may be told that a class is built on: it calls that."""

_CLASS = re.compile(r"_*[A-Z]\w*\Z")
_CYTHON = re.compile(r"__pyx_unpickle_\w+\Z")


@lru_cache(maxsize=4096)
def known(module: str, name: str) -> Known:  # noqa: PLR0911 (one answer for each kind of name)
    """What is known of `module.name`, a name of Python 3."""
    module, name = _current(module, name)
    full = f"{module}:{name}"
    names = _table().get(module, {})
    if name in names:
        given = names[name]
        return Known(Standing.STATE, full, given=None if given is None else tuple(given))
    made = name.removesuffix(".__new__")
    if made != name and (is_class(made) or f"{module}:{made}" in BASES):
        return known(module, made)
    if module.startswith(SCRIPTS):
        return Known(Standing.STATE, full)
    if full in DILL_MAIN:
        return Known(Standing.CARRIED, full)
    if full in ATTRIBUTES:
        return Known(Standing.GETATTR, full)
    reason = _refusal(module, name)
    if reason is not None:
        return Known(Standing.REFUSED, full, reason)
    return Known(Standing.CARRIED if CARRIERS.fullmatch(module) else Standing.UNKNOWN, full)


def _current(module: str, name: str) -> tuple[str, str]:
    """The name that the releases use which wrote the known files."""
    if module == "numpy.core" or module.startswith("numpy.core."):
        module = "numpy._core" + module.removeprefix("numpy.core")
    if module == "pathlib._local":  # where Python 3.13 has the classes of pathlib
        module = "pathlib"
    module, _, name = FORMER.get(f"{module}:{name}", f"{module}:{name}").partition(":")
    return module, name


def _refusal(module: str, name: str) -> str | None:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in FORMER_LIBRARY:
        return "the standard library has it, and no saved state needs it"
    if top in REACHES or any(module == part or module.startswith(part + ".") for part in REACHING):
        return f"{module} starts processes, opens files or connections, or loads code"
    if CARRIERS.fullmatch(module) and name.rpartition(".")[2] in LOADS:
        return f"{module} is told to load or to open something"
    first, _, rest = name.partition(".")
    if rest and not _CLASS.match(first):
        return f"the dotted name {name[:200]!r} reaches through {module} into something else"
    if any(part.startswith("__") and part.endswith("__") for part in name.split(".")):
        return f"{name[:200]!r} reaches into how Python itself works"
    return None


def is_class(name: str) -> bool:
    """Whether a name is written as those of classes are: "Outer.Inner", "_Private"."""
    return all(_CLASS.match(part) for part in name.split("."))


def is_cython(name: str) -> bool:
    """Whether Cython generates such a function, to rebuild an object of a class that it compiled."""
    return bool(_CYTHON.match(name))


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, list[str] | None]]:
    text = resources.files("jaxdoctor.storage.pickles").joinpath("known_names.json").read_text("utf-8")
    found: dict[str, dict[str, list[str] | None]] = json.loads(text)
    return found


@lru_cache(maxsize=4096)
def as_loaded(module: str, name: str) -> tuple[str, str]:
    """The name that `pickle.load` looks up for one of Python 2, which protocols below 3 hold."""
    import _compat_pickle  # noqa: PLC0415 (rare)

    if (module, name) in _compat_pickle.NAME_MAPPING:
        mapped: tuple[str, str] = _compat_pickle.NAME_MAPPING[module, name]
        return mapped
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name
