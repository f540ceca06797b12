"""The dtypes, weak types and counters that go into an update function and come out of it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.finding import Location, Severity

LARGE_STATE_BYTES = 256 * 2**20
"""A state that is held twice is worth a word from this size on."""


DAY = 86_400.0
YEAR = 365 * DAY
AGES = 1000 * YEAR

LONG_RUN_DAYS = 30
"""A counter that ends within a run of so many days is an error."""

MANY_ADDITIONS = 1_000_000_000
"""Where no rate is known, a limit within so many additions, one after the other, is worth a warning."""


class Change(enum.StrEnum):
    """What one call does to a leaf, in the word that a table prints."""

    APPEARS = "appears"
    VANISHES = "vanishes"
    RESHAPES = "changes shape"
    WIDENS = "widens"
    NARROWS = "narrows"
    CONVERTS = "changes dtype"
    WEAKENS = "becomes weak"
    HARDENS = "stops being weak"

    @property
    def plural(self) -> str:
        """The words after several leaves: "stop being weak"."""
        verb, space, rest = self.value.partition(" ")
        return f"{verb.removesuffix('s')}{space}{rest}"


WEAK_CHANGES = (Change.WEAKENS, Change.HARDENS)
TREE_CHANGES = (Change.APPEARS, Change.VANISHES, Change.RESHAPES)


def is_wider(dtype: str, than: str) -> bool:
    """Whether both are of one kind and the first has more bits."""
    one, other = dtype_named(dtype), dtype_named(than)
    return one.kind == other.kind and one.bits > other.bits


def abstract_type(dtype: str, shape: tuple[int, ...], *, weak: bool) -> str:
    """As JAX writes it: "float32[128,64]", a weak one with "~" before it."""
    return f"{'~' * weak}{dtype}[{','.join(str(size) for size in shape)}]"


def spoken(seconds: float) -> str:
    """A time as people say it: "36 minutes"."""
    if seconds >= AGES:
        return "over 1,000 years"
    units = (("year", YEAR), ("day", DAY), ("hour", 3600.0), ("minute", 60.0))
    for unit, length in units:
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}s"
    return f"{seconds:.0f} seconds" if seconds >= 1 else "less than a second"


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A place in somebody's source where a dtype changes."""

    file: str | None
    """None: no source line is known."""

    line: int | None = None
    function: str | None = None
    source: str | None = None
    """The text of the line."""

    primitive: str | None = None
    """The primitive of the program: "convert_element_type", "mul"."""

    dtype_from: str
    dtype_to: str
    """Each with "~" before it where it is weak."""

    implicit: bool = False
    """JAX inserted the conversion, since two operands differed; nobody wrote it."""

    partner: str | None = None
    """The operand that forced an implicit conversion: "float32[]"."""

    library: bool = False
    """The place is in an installed package, where the user cannot mend it."""

    package: str | None = None
    """The line of an installed package inside it: "optax/_src/transform.py:120"."""

    direct: bool = False
    """What this line computes is the leaf, nothing is done to it elsewhere."""

    scales: bool = False
    """The operand multiplies the leaf itself, as a decay does an average."""

    number: float | None = None
    """What the operand is, where it is a number of the program: np.float64(0.9)."""

    through: tuple[str, ...] = ()
    """The calls that lead there, outermost first: "train.py:30 in update"."""

    @property
    def cause(self) -> str:
        """The end of a sentence: ", where a float32[] operand promotes it: p - LR * g"."""
        if self.primitive == "argument":
            return ", being an argument as it is"
        quoted = f": {self.source}" if self.source else ""
        if self.partner:
            return f", where a {self.partner} operand promotes it{self.inside}{quoted}"
        return f", by {self.primitive}{quoted}" if quoted else ""

    @property
    def inside(self) -> str:
        """As in " (in optax/_src/transform.py:120)"; empty where the user's own line does it."""
        return f" (in {self.package})" if self.package else ""

    @property
    def place(self) -> str:
        """As in "train.py:30", or "a place unknown"."""
        return f"{self.file}:{self.line}" if self.file else "a place unknown"


@dataclass(frozen=True, kw_only=True)
class Cure:
    """A change that was applied to the traced update, which was then traced again."""

    text: str
    """What to do: "make ret as jnp.float32(0)"."""

    tried: str
    """What came of it: "tried: settles at once"."""

    follows: bool = False
    """The leaf rests as soon as another, which drifts before it, is cured."""

    @property
    def stated(self) -> str:
        """Both: "make ret as jnp.float32(0) (tried: settles at once)"."""
        return f"{self.text} ({self.tried})"


@dataclass(frozen=True, kw_only=True)
class LeafSignature:
    """One leaf of the state, before the first call and after the call from which on it stays."""

    path: str
    dtype_in: str | None
    """None: the leaf is new."""

    dtype_out: str | None
    """None: the leaf is gone."""

    shape_in: tuple[int, ...] | None
    shape_out: tuple[int, ...] | None
    weak_in: bool = False
    weak_out: bool = False
    sites: tuple[SourceLine, ...] = ()
    """Where the dtype or the weak type changed, the likeliest place first."""

    call: int = 1
    """The call in which it first changes, counted from 1."""

    cure: Cure | None = None
    """What was tried and makes the change go away."""

    @property
    def before(self) -> str:
        """As in "~int32[]" or, of a new leaf, "absent"."""
        if self.dtype_in is None or self.shape_in is None:
            return "absent"
        return abstract_type(self.dtype_in, self.shape_in, weak=self.weak_in)

    @property
    def after(self) -> str:
        """As in "int32[]" or, of a leaf that is gone, "absent"."""
        if self.dtype_out is None or self.shape_out is None:
            return "absent"
        return abstract_type(self.dtype_out, self.shape_out, weak=self.weak_out)

    @property
    def change(self) -> Change | None:
        """The most severe change of it; None: it is as it was."""
        if self.dtype_in is None or self.dtype_out is None:
            return Change.APPEARS if self.dtype_in is None else Change.VANISHES
        if self.shape_in != self.shape_out:
            return Change.RESHAPES
        if self.dtype_in != self.dtype_out:
            if is_wider(self.dtype_out, self.dtype_in):
                return Change.WIDENS
            return Change.NARROWS if is_wider(self.dtype_in, self.dtype_out) else Change.CONVERTS
        if self.weak_in != self.weak_out:
            return Change.WEAKENS if self.weak_out else Change.HARDENS
        return None

    @property
    def dtype_changes(self) -> bool:
        """Whether a `scan` or a `while_loop` over the update would refuse this leaf's dtype."""
        return None not in (self.dtype_in, self.dtype_out) and self.dtype_in != self.dtype_out


@dataclass(frozen=True, kw_only=True)
class InnerDrift:
    """A leaf of a loop's carry, or of a branch's result, whose two sides differ inside an update."""

    kind: str
    """"scan", "while_loop", "fori_loop", "cond", "switch" or "select"."""

    call: SourceLine
    """The line that calls it."""

    leaf: LeafSignature
    """As it goes in and as it comes out; of a branch, as the others have it and as this one gives it."""

    @property
    def is_loop(self) -> bool:
        """Whether it carries the leaf."""
        return self.kind in {"scan", "while_loop", "fori_loop"}


class Fate(enum.StrEnum):
    """What becomes of a counter that is counted for long enough."""

    WRAPS = "wraps"
    """Goes to its lowest value, or to 0, silently."""

    SATURATES = "saturates"
    """Stays at a limit that the program sets, as optax's `safe_increment` does."""

    STALLS = "stalls"
    """A floating-point sum that is so large that adding the increment no longer changes it."""

    CAPPED = "capped"
    """Stays at a limit that its author wrote: a buffer's size, the floor of an exploration rate."""

    RESETS = "resets"
    """Begins anew before any limit, by a remainder or a condition."""

    UNKNOWN = "unknown"
    """Its increment depends on data."""


@dataclass(frozen=True, kw_only=True)
class UpdateCounter:
    """A leaf of the state that every call adds to."""

    leaf: str
    dtype: str
    """"uint32x2" for a pair of words, `hi` and `lo`."""

    fate: Fate
    increment: float | int | None = None
    """What one call adds, at most; None: it depends on data."""

    conditional: bool = False
    """Some calls add less, or nothing."""

    start: float | int | None = None
    """Its value before the first call; None: not known without running anything."""

    limit: float | int | None = None
    """The value beyond which it cannot go, or at which it stands still."""

    read: bool = True
    """Something besides its own next value and a power of a decay is computed from it."""

    calls: int | None = None
    """Calls until it is at its limit, the increment added by each; the earliest, if `conditional`."""

    additions: int = 1
    """How often one call adds to it, one addition after the other: in a loop of 16 passes, 16 times."""

    inexact_after: int | None = None
    """Of a floating-point count: calls until sums are rounded."""

    site: SourceLine | None = None
    """Where it is added to."""

    @property
    def growth(self) -> str:
        """As in "grows by at most 4,096" or "falls by 0.5"."""
        verb = "falls" if (self.increment or 0) < 0 else "grows"
        return f"{verb} by {'at most ' * self.conditional}{abs(self.increment or 0):,g}"

    def when(self, calls_per_second: float | None) -> str:
        """As in ", after 36 minutes"; nothing where no rate is known."""
        seconds = self.seconds(calls_per_second)
        return "" if seconds is None else f", after {spoken(seconds)}"

    def urgency(self, calls_per_second: float | None) -> Severity | None:
        """How grave it is to reach the limit; None: no run lasts that long."""
        if self.calls is None:
            return None
        seconds = self.seconds(calls_per_second)
        if seconds is None:
            return Severity.WARNING if self.calls * self.additions <= MANY_ADDITIONS else None
        if seconds <= LONG_RUN_DAYS * DAY:
            return Severity.ERROR
        return Severity.WARNING if seconds <= YEAR else None

    def seconds(self, calls_per_second: float | None) -> float | None:
        """Seconds until its limit at that rate."""
        if self.calls is None or not calls_per_second:
            return None
        return self.calls / calls_per_second


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The call of a running script that was judged."""

    name: str
    file: str
    line: int
    kind: str
    """"jit", "pmap", "shard_map", "filter_jit", "nnx.jit" or "loop"."""

    calls: int
    """How often the script made it while it was watched."""

    others: tuple[str, ...] = ()
    """What else was seen: "train.py:12 (env_step), 4 calls"."""

    compiled: tuple[bool, ...] = ()
    """Of every call that was really made: whether XLA compiled."""

    missed: tuple[str | None, ...] = ()
    """Of every call that was really made: why JAX says that it traced it anew; None: it did not."""

    counted: bool = False
    """Whether the user asked for compiles to be counted."""

    @property
    def place(self) -> str:
        """As in "train.py:40 (train_step)"."""
        return f"{self.file}:{self.line} ({self.name})"


@dataclass(frozen=True, kw_only=True)
class Recompile:
    """Why a step is compiled again though no array of its state changes."""

    cause: str
    """"n is a Python int: ..."."""

    leaf: str | None = None
    fix: str | None = None
    certain: bool = False
    """It happens at every call, and not only if the step is jitted in one way or its data are such."""

    once: bool = False
    """It happens at one call alone, whatever the data are."""


@dataclass(frozen=True, kw_only=True)
class LaterError:
    """What a later call raises on what the first one returned."""

    call: int
    """Counted from 1; the first was traced well."""

    message: str
    """"TypeError: ...", its first line."""

    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class LostDecay:
    """A factor that multiplies a leaf in every call and that is 1 in half precision."""

    leaves: tuple[str, ...]
    """What it multiplies."""

    factor: str | None
    """The leaf of the state that holds it; None: a constant."""

    dtype: str
    """In which it is 1."""

    number: float
    """What it was before it was rounded; 1 where that is not known."""

    still: bool
    """What is new is multiplied by 1 minus it, which is 0."""

    site: SourceLine
    fix: str | None = None
    """What was tried and keeps it below 1."""


@dataclass(frozen=True, kw_only=True)
class Signature:
    """An update function as abstract tracing sees it: nothing was computed, compiled or stored."""

    target: str
    """"train.py:make", or a transform's name in a sweep: "optax.adam"."""

    leaves: tuple[LeafSignature, ...]
    """The state, before and after the first call."""

    rounds: int | None
    """Calls until the state's dtypes, shapes and weak types no longer change; None: they never settle.

    0: stable from the start. Each round is one more trace and compile of the jitted update.
    """

    traces: int = 0
    """How often it was traced to find that out."""

    results: tuple[LeafSignature, ...] = ()
    """Of a gradient transformation: each parameter, and the update that is returned for it."""

    inputs: tuple[str, ...] = ()
    """The abstract types of the arguments beside the state."""

    x64: bool = False
    """Whether `jax_enable_x64` was on."""

    params_dtype: str | None = None
    """The dtype that a sweep gave to the parameters."""

    state_parts: tuple[str, ...] = ()
    """The names of the arguments that were taken for the state, as they come back in what is returned."""

    state_seen: tuple[str, ...] = ()
    """Those of them that a later call of a script was seen to be given; the others have the structure."""

    data: tuple[str, ...] = ()
    """The names of the other arguments."""

    notes: tuple[str, ...] = ()
    """What was supposed to make it traceable, a sentence each: "axis 'batch' bound with size 1"."""

    call: Recorded | None = None
    """Of a script that was run: which of its calls this is."""

    recompiles: tuple[Recompile, ...] = ()
    """Causes of compiles that the arrays of the state do not show."""

    unscaled_half: SourceLine | None = None
    """Where a float16 gradient arises that nothing scales and nobody tests for finite values."""

    lost_decays: tuple[LostDecay, ...] = ()
    """Decays that half precision rounds to 1."""

    takes_gradient: bool = False
    """Whether the update computes a gradient."""

    inner: tuple[InnerDrift, ...] = ()
    """Loops and conditions inside it that JAX refuses; they were mended to trace the rest."""

    raises: LaterError | None = None
    """A later call that fails on what an earlier one returned."""

    loop_error: str | None = None
    """What `jax.lax.scan` over the update says; None: it accepts it."""

    promotions: tuple[SourceLine, ...] = ()
    """Implicit promotions of a half-precision value by a wider scalar."""

    wide_sites: tuple[SourceLine, ...] = ()
    """Under x64: where a 64-bit float appears though none went in."""

    counters: tuple[UpdateCounter, ...] = ()
    callbacks: tuple[SourceLine, ...] = ()
    """Calls back to the host, such as `jax.debug.print`; `primitive` tells which."""

    donated: bool | None = None
    """Whether a jitted update gives its whole state's buffers back; None: it is not jitted."""

    donatable: tuple[str, ...] = ()
    """The names of the arguments that hold the state, as `jax.jit` takes them; nothing where not known."""

    state_bytes: int = 0
    compilations: int = 0
    """XLA compiles that the target itself caused while it was being built. Judging needs none."""

    seconds: float = 0.0
    """Wall time of building and tracing, imports left out."""

    calls_per_second: float | None = None
    """What the user expects, for the time until a counter's limit."""

    refused: str | None = None
    """Why it could not be traced; then there are no leaves and nothing is known."""

    @property
    def drifting(self) -> tuple[LeafSignature, ...]:
        """The leaves that a call changes."""
        return tuple(leaf for leaf in self.leaves if leaf.change is not None)

    def location(self, leaf: str | None = None, site: SourceLine | None = None) -> Location:
        """Where a finding about it points: the source line, where one is known."""
        if site is None or site.file is None:
            return Location(path=self.target, leaf=leaf)
        return Location(path=site.file, line=site.line, leaf=leaf)

    @property
    def loop_takes_it_on(self) -> bool:
        """Whether it is the body of a loop that makes its weak leaves strong by itself, without a compile."""
        return self.call is not None and self.call.kind == "loop" and self.loop_error is None

    @property
    def context(self) -> str:
        """What a finding adds to its message where the same target was traced in several ways."""
        return f" ({self.setting})" if self.x64 or self.params_dtype else ""

    @property
    def setting(self) -> str:
        """As in "x64, params bfloat16": how this one differs from its neighbours in a sweep."""
        words = ["x64" if self.x64 else "x32"]
        return ", ".join([*words, f"params {self.params_dtype}"] if self.params_dtype else words)

    @property
    def verdict(self) -> str:
        """One phrase for a cell of a table; "stable" is the only healthy one."""
        return next(self._ills(), "stable")

    def _ills(self) -> Iterator[str]:
        changes = [leaf.change for leaf in self.leaves]
        if self.refused is not None:
            yield "refuses"
        if self.inner:
            yield "refused inside"
        if any(change in TREE_CHANGES for change in changes):
            yield "tree changes"
        if any(leaf.dtype_changes for leaf in self.leaves):
            yield "dtype drifts" if self.rounds is not None else "never settles"
        if any(each.certain for each in self.recompiles):
            yield "recompiles"
        if self.rounds is None and self.refused is None:
            yield "never settles"
        told = (Change.WEAKENS,) if self.loop_takes_it_on else WEAK_CHANGES
        if any(change in told for change in changes):
            yield "weak type drifts"
        if any(result.change is Change.WIDENS for result in self.results):
            yield "updates widen"
        if self.has_unexpected_x64:
            yield "64 bit appears"

    @property
    def has_unexpected_x64(self) -> bool:
        """Whether the state or the program holds 64-bit floats though no argument does."""
        return bool(self.wide_leaves or self.wide_sites)

    @property
    def wide_leaves(self) -> tuple[LeafSignature, ...]:
        """Under x64, the 64-bit leaves that a transformation made for parameters that are not."""
        wide = {"float64", "int64", "complex128"}
        if not self.x64 or not self.results or any(leaf.dtype_in in wide for leaf in self.results):
            return ()
        return tuple(leaf for leaf in self.leaves if leaf.dtype_out in wide and not leaf.weak_out)
