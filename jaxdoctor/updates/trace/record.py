"""Watches a script's jitted calls and outermost loops, and judges those that return their state."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType, MethodType, ModuleType
from typing import Any

import jax

from jaxdoctor.facts.signature import Signature
from jaxdoctor.programs.authors import JAX_FOLDERS, is_users, shorten
from jaxdoctor.programs.named import first_line
from jaxdoctor.updates.trace.anew import differ
from jaxdoctor.updates.trace.callers import whence
from jaxdoctor.updates.trace.calls import Called, of_call, of_loop, static_values
from jaxdoctor.updates.trace.compiles import compiles
from jaxdoctor.updates.trace.flow import Flow, Key, Seen, arguments_of
from jaxdoctor.updates.trace.misses import Misses, reason
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

LIBRARIES = (
    "optax", "flax", "equinox", "haiku", "chex", "orbax", "distrax", "jaxtyping", "numpyro", "ml_collections",
    "tensorflow_probability", "lineax", "optimistix", "diffrax", "rlax", "clu", "grain", "keras", "jaxopt",
)  # fmt: skip
"""Packages whose own jitted functions and loops are no step of anybody's training."""

ENOUGH_CALLS = 3
"""Of a step that learns: at the third the recording ends."""


MOST_FOLLOWED = 8
"""Of one function, calls whose results are looked for among the arguments of the next."""


class Stop(BaseException):
    """Enough was seen, or the time is over. No `except Exception` of the script's keeps it."""


@dataclass
class Entry:
    """One jitted function or loop, at one place of the script."""

    name: str
    file: str
    line: int
    defined: int | None
    kind: str
    depth: int = 0
    calls: int = 0
    compiled: list[bool] = field(default_factory=list)
    """Of every call that was really made: whether XLA compiled."""

    looked: bool = False
    missed: list[str | None] = field(default_factory=list)
    """Of every call that was really made: why JAX says that it traced it anew; None: it did not."""

    first: Called | None = None
    """The first call, with the types of its arrays."""

    later: tuple[int, Called] | None = None
    """The first call, with its number, of another function or with other static arguments."""

    odd: Called | None = None
    """The first call whose data have other types."""

    shapes: list[tuple[str, ...]] = field(default_factory=list)
    """Of every call: the types of its arguments that are no state."""

    subject: Traced | None = None
    signature: Signature | None = None
    learns: bool = False
    """Its state holds an optimizer's leaves, or it takes a gradient."""

    error: str | None = None
    call: Called | None = None
    """The first one, with the types of its arrays; None: what comes back is known, or cannot be."""

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, int]:
        """The step that learns first, then the outermost loop, then what was seen to come back."""
        leaves = len(self.signature.leaves) if self.signature else 0
        comes_back = self.subject is not None and bool(self.subject.seen)
        return self.learns, self.depth == 0 and self.learns, self.kind == "loop", comes_back, leaves

    @property
    def own_name(self) -> str:
        """Its function's name, as JAX has it."""
        return getattr(self.first.function, "__name__", self.name) if self.first is not None else self.name

    @property
    def place(self) -> str:
        """As in "train.py:40 (train_step)"."""
        return f"{self.file}:{self.line} ({self.name})"


class Recorder:
    """What a script has called so far."""

    def __init__(
        self,
        *,
        wanted: str | None = None,
        calls: int | None = None,
        found: Callable[[Entry], None] = lambda _: None,
    ) -> None:
        self.entries: dict[tuple[str, int, str], Entry] = {}
        self.seen = 0
        """Calls of jitted functions and loops, whatever they return."""

        self._wanted, self._calls, self._found = wanted, calls, found
        self._flow, self._misses = Flow(), Misses()
        self._depth = self._loops = 0
        self._busy = False

    @property
    def best(self) -> Entry | None:
        """The call to be judged: that which was named, or the one of the highest rank."""
        judged = [entry for entry in self.entries.values() if entry.signature and self._is_wanted(entry)]
        return max(judged, key=lambda entry: entry.rank, default=None)

    @property
    def steps(self) -> list[Entry]:
        """The jitted calls that learn, none of which is made inside another."""
        entries = self.entries.values()
        return [each for each in entries if each.signature and each.learns and each.kind != "loop"]

    def _is_wanted(self, entry: Entry) -> bool:
        wanted = self._wanted
        if wanted is None:
            return True
        return wanted in {entry.name, entry.name.rpartition(".")[2], str(entry.line), str(entry.defined)}

    def called(self, jitted: Jitted, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """One call of a jitted function: looked at, then made."""
        if self._busy or self._depth:
            return jitted.real(*args, **keywords)
        entry = self._met(jitted, args, keywords, sys._getframe(2))  # noqa: SLF001 (the only way to the caller)
        if entry.calls and entry.first is not None:
            now = Called(jitted.real, jitted.function, jitted.kind, jitted.options, args, keywords)
            if jitted.kind == "jit" and entry.later is None and is_another(entry.first, now):
                entry.later = entry.calls + 1, now.without_arrays()
            if entry.odd is None and _types(entry, args, keywords) != entry.shapes[0]:
                entry.odd = now.without_arrays()
        return self._made(entry, jitted.real, args, keywords)

    def lowered(self, jitted: Jitted, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """A jitted function that is lowered, to be compiled before it is called."""
        real = jitted.real.lower(*args, **keywords)
        if self._busy or self._depth:
            return real
        return Lowered(self, self._met(jitted, args, keywords, sys._getframe(2)), real)  # noqa: SLF001

    def compiled(self, entry: Entry, real: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """One call of what was compiled before it."""
        if self._busy or self._depth:
            return real(*args, **keywords)
        return self._made(entry, real, args, keywords)

    def _met(
        self, jitted: Jitted, args: tuple[Any, ...], keywords: Mapping[str, Any], frame: FrameType | None
    ) -> Entry:
        self.seen += 1
        entry = self._entry(jitted.function, jitted.kind, frame)
        if not entry.looked:
            entry.looked = True
            call = Called(jitted.judged, jitted.function, jitted.kind, jitted.options, args, keywords)
            self._look(entry, call)
            with contextlib.suppress(TypeError, ValueError):
                entry.call = entry.first = call.without_arrays()
        return entry

    def _made(self, entry: Entry, real: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        given = arguments_of(args, keywords)
        self._flow.given(given)
        if entry.call is not None and entry.calls:
            self._follow(entry, entry.call, given)
        entry.calls += 1
        entry.shapes.append(_types(entry, args, keywords))
        done = self._calls or ENOUGH_CALLS - 1
        if self._ends(entry) and entry.calls > done:
            raise Stop
        before, told = len(compiles()), len(self._misses.messages)
        with self._within():
            out = real(*args, **keywords)
        entry.compiled.append(len(compiles()) > before)
        entry.missed.append(reason(self._misses.messages[told:], entry.own_name))
        if entry.calls < MOST_FOLLOWED:
            self._flow.returned(entry.place, out)
        if self._ends(entry) and self._calls and entry.calls >= self._calls:
            raise Stop
        return out

    def _follow(self, entry: Entry, call: Called, given: Mapping[Key, Any]) -> None:
        """Takes for state what the call before this one returned, and judges again where that is another."""
        fed = self._flow.fed(entry.place, given)
        if not fed or (call.kind == "nnx.jit" and entry.subject is not None):
            return
        entry.call = None
        seen = Seen(fed, lambda key, place: self._flow.contradicts(entry.place, given[key], place))
        with self._within():
            try:
                subject = of_call(call, seen)
            except Exception as error:  # noqa: BLE001 (what was taken by its structure stays so)
                entry.error = first_line(error)
                return
        if subject is None:
            return
        if entry.subject is None or entry.signature is None or entry.subject.places != subject.places:
            self._judge(entry, subject)
            entry.shapes = [_types(entry, call.args, call.keywords)] * entry.calls
        else:
            entry.subject = subject
            entry.signature = replace(entry.signature, state_seen=subject.seen)

    def _ends(self, entry: Entry) -> bool:
        """Whether the recording ends with this one."""
        named = self._wanted is not None and self._is_wanted(entry)
        return entry is self.best and (entry.learns or named)

    def _look(self, entry: Entry, call: Called) -> None:
        """Traces a call before it is made, and judges it if it returns what it takes."""
        before = self.best
        with self._within():
            try:
                subject = of_call(call)
            except Exception as error:  # noqa: BLE001 (the call itself raises it again, for the script to see)
                entry.error = first_line(error)
                return
        if subject is not None:
            self._judge(entry, subject)
        if entry is self.best and entry.signature is not None and entry.signature.inner:
            # JAX refuses the call itself; what was traced, and is kept by jit, is mended.
            raise Stop
        best = self.best
        if best is not None and best is not before and best.learns and best.kind == "loop":
            # The loop that learns is inside this call, which would run all of the training.
            raise Stop

    def looped(self, frame: FrameType, real: Callable[..., Any], body: Any, subject: Traced) -> None:
        """One loop: judged at once, since what its body closes over may be traced arrays."""
        del real
        self.seen += 1
        entry = self._entry(body, "loop", frame)
        entry.calls += 1
        entry.depth = self._depth
        if entry.signature is None:
            self._judge(entry, subject)
        if self._depth == 0 and entry.learns and self._is_wanted(entry):
            raise Stop

    def _judge(self, entry: Entry, subject: Traced) -> None:
        self._busy = True
        try:
            entry.signature = sign(lambda: subject, entry.place)
            entry.subject = subject
            entry.learns = subject.learns or entry.signature.takes_gradient
        except Exception as error:  # noqa: BLE001 (one call that cannot be judged is not the end of the others)
            entry.error = first_line(error)
        finally:
            self._busy = False
        if entry.signature is not None and self.best is entry:
            self._found(entry)

    def _entry(self, function: Any, kind: str, frame: FrameType | None) -> Entry:
        file, line = whence(frame)
        name = getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
        name = name.rpartition("<locals>.")[2]
        defined = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
        key = (file, line, name)
        if key not in self.entries:
            self.entries[key] = Entry(name=name, file=shorten(file), line=line, defined=defined, kind=kind)
        return self.entries[key]

    @contextlib.contextmanager
    def _within(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While open, functions that are jitted and loops that are entered are recorded."""
        compiles()
        finder = _Finder({"equinox": self._patch_equinox, "flax.nnx": self._patch_nnx})
        kept = [
            (jax, name, getattr(jax, name)) for name in ("jit", "pmap", "shard_map") if hasattr(jax, name)
        ]
        kept += [(jax.lax, name, getattr(jax.lax, name)) for name in ("scan", "fori_loop", "while_loop")]
        kept += _pjit()
        sys.meta_path.insert(0, finder)
        for module, name, real in kept:
            loops = {"scan": self._scan, "fori_loop": self._fori_loop, "while_loop": self._while_loop}
            wrapped = loops[name](real) if name in loops else self._factory(real, name.replace("pjit", "jit"))
            setattr(module, name, wrapped)
        try:
            with self._misses.listening():
                yield
        finally:
            for module, name, real in kept:
                setattr(module, name, real)
            sys.meta_path.remove(finder)

    def _factory(self, real: Callable[..., Any], kind: str, *, of_users: bool = True) -> Callable[..., Any]:
        @functools.wraps(real)
        def make(*given: Any, **options: Any) -> Any:
            if self._busy or (of_users and not _is_counted(sys._getframe(1).f_code.co_filename)):  # noqa: SLF001
                return real(*given, **options)
            if not given and not ({"fun", "f"} & set(options)):
                return functools.partial(make, **options)
            made = real(*given, **options)
            function = given[0] if given else options.get("fun", options.get("f"))
            if not callable(made):
                return made
            jitted = Jitted(self, made, function, kind, options)
            # Where compiles are counted, a twin is judged: what was traced before would hide a miss.
            jitted.judged = _twin(real, function, options) if self._calls and kind == "jit" else made
            return jitted

        return make

    def _patch_equinox(self, module: ModuleType) -> None:
        for name in ("filter_jit", "filter_pmap"):
            if hasattr(module, name):
                setattr(module, name, self._factory(getattr(module, name), "filter_jit"))

    def _patch_nnx(self, module: ModuleType) -> None:
        for name in ("jit", "pmap"):
            if hasattr(module, name):
                setattr(module, name, self._factory(getattr(module, name), "nnx.jit"))

    def _scan(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def scan(f: Any, init: Any, xs: Any = None, length: int | None = None, **options: Any) -> Any:
            return self._loop(real, f, (f, init, xs, length), options, carry=init, stacked=xs, name="scan")

        return scan

    def _fori_loop(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any, **options: Any) -> Any:
            arguments = (lower, upper, body_fun, init_val)
            return self._loop(
                real, body_fun, arguments, options, carry=init_val, stacked=None, name="fori_loop"
            )

        return fori_loop

    def _while_loop(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def while_loop(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
            arguments = (cond_fun, body_fun, init_val)
            return self._loop(real, body_fun, arguments, {}, carry=init_val, stacked=None, name="while_loop")

        return while_loop

    def _loop(
        self,
        real: Callable[..., Any],
        body: Any,
        arguments: tuple[Any, ...],
        options: Mapping[str, Any],
        *,
        carry: Any,
        stacked: Any,
        name: str,
    ) -> Any:
        frame = sys._getframe(2)  # noqa: SLF001 (the only way to the caller)
        outermost = not self._busy and not self._loops and _is_counted(frame.f_code.co_filename)
        if outermost:
            subject = of_loop(body, carry, stacked, name)
            if subject is not None:
                self.looped(frame, real, body, subject)
        self._loops += 1
        try:
            return real(*arguments, **options)
        finally:
            self._loops -= 1


class Jitted:
    """A jitted function that tells of its calls. All else that it is asked, the function answers."""

    def __init__(
        self, recorder: Recorder, real: Any, function: Any, kind: str, options: Mapping[str, Any]
    ) -> None:
        self.real, self.function, self.kind, self.options = real, function, kind, options
        self.judged = real
        self._recorder = recorder
        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """As the jitted function."""
        return self._recorder.called(self, args, keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A jitted method."""
        return self if instance is None else MethodType(self, instance)

    def lower(self, *args: Any, **keywords: Any) -> Any:
        """As that of the jitted function."""
        return self._recorder.lowered(self, args, keywords)

    def __getattr__(self, name: str) -> Any:
        """`trace`, `clear_cache` and the rest."""
        return getattr(self.real, name)


class Lowered:
    """What `lower` gives, which tells of the calls of what it compiles."""

    def __init__(self, recorder: Recorder, entry: Entry, real: Any) -> None:
        self.real, self._recorder, self._entry = real, recorder, entry

    def compile(self, *args: Any, **keywords: Any) -> Any:
        """The compiled function."""
        return Compiled(self._recorder, self._entry, self.real.compile(*args, **keywords))

    def __getattr__(self, name: str) -> Any:
        """`as_text`, `cost_analysis` and the rest."""
        return getattr(self.real, name)


class Compiled:
    """A function that was compiled before it is called."""

    def __init__(self, recorder: Recorder, entry: Entry, real: Any) -> None:
        self.real, self._recorder, self._entry = real, recorder, entry

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """As the compiled function."""
        return self._recorder.compiled(self._entry, self.real, args, keywords)

    def __getattr__(self, name: str) -> Any:
        """`memory_analysis`, `cost_analysis` and the rest."""
        return getattr(self.real, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Calls a function on a module of a library as soon as a script has imported it."""

    def __init__(self, patches: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._patches = patches

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """The module's own spec, whose loader tells when it is done."""
        del path, target
        if fullname not in self._patches:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self._patches[fullname](module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _twin(real: Callable[..., Any], function: Any, options: Mapping[str, Any]) -> Any:
    """The same function jitted apart from the script's own: what is traced of one is new to the other."""

    @functools.wraps(function)
    def same(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    return real(same, **{name: value for name, value in options.items() if name not in {"fun", "f"}})


def is_another(first: Called, now: Called) -> bool:
    """Whether a later call is of another function, or has other static arguments."""
    before, after = static_values(first), static_values(now)
    return first.function is not now.function or any(
        name in before and differ(before[name], value) for name, value in after.items()
    )


def _pjit() -> list[tuple[Any, str, Any]]:
    """The older name of `jit`, where this JAX still has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with contextlib.suppress(ImportError, AttributeError):
            module = importlib.import_module("jax.experimental.pjit")
            return [(module, "pjit", module.pjit)]
    return []


def _is_counted(file: str) -> bool:
    """Whether what this file jits may be a training step: the user's, or a trainer's in a package."""
    if file.startswith(JAX_FOLDERS) or not is_users(file):
        return False
    _, found, inside = file.partition("site-packages/")
    return not found or inside.partition("/")[0] not in LIBRARIES


def _types(entry: Entry, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """The abstract types of a call's arguments that are no state."""
    names = entry.subject.data if entry.subject is not None else ()
    every = dict(zip(entry.subject.order if entry.subject is not None else (), args, strict=False)) | dict(
        keywords
    )
    return tuple(_type(every[name]) for name in names if name in every)


def _type(value: Any) -> str:
    def stated(leaf: Any) -> str:
        try:
            return str(jax.typeof(leaf).str_short())
        except TypeError:
            return type(leaf).__name__

    return ", ".join(stated(leaf) for leaf in jax.tree.leaves(value))
