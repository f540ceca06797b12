"""The worker's side of `check-update --run`: runs a training script and judges the call that is its step."""

from __future__ import annotations

import importlib.util
import io
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import NoReturn

from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.facts.signature import Recompile, Recorded, Signature
from jaxdoctor.programs.authors import is_users, shorten
from jaxdoctor.programs.named import first_line
from jaxdoctor.updates.script_plan import ScriptPlan
from jaxdoctor.updates.trace.anew import dropped, of_later, unforeseen
from jaxdoctor.updates.trace.record import Entry, Recorder, Stop
from jaxdoctor.updates.trace.statics import of_shapes
from jaxdoctor.workers.progress import Progress

MOST_OTHERS = 12
"""Other calls are named so many."""


class WaitsForInputError(BaseException):
    """The script reads from its terminal. Derived so that no `except Exception` of the script's keeps it."""


@dataclass(frozen=True)
class Ending:
    """How a script came to its end."""

    words: str
    """As in "raises ValueError: no data at train.py:30"."""

    raised: bool = False


class _NoInput(io.TextIOBase):
    """A terminal that nobody sits at."""

    def readline(self, *_: object) -> NoReturn:
        """Asked by `input`."""
        raise WaitsForInputError

    def read(self, *_: object) -> NoReturn:
        """Asked by what reads all of it."""
        raise WaitsForInputError

    def readable(self) -> bool:
        """As a terminal."""
        return True


def run_script(plan: ScriptPlan, *, progress: Progress) -> list[Signature]:
    """Runs the script until its training step was seen often enough, and judges that.

    Raises:
        UsageError: there is no such script, or no call of the name that was asked for.
        NothingExaminedError: it ended, raised or waits for input, and nothing that it called can be judged.
    """
    code, name = _code(plan)
    progress.stage(f"running {plan.subject}")

    def found(entry: Entry) -> None:
        progress.hand_over([_signature(plan, recorder, entry, None)])

    recorder = Recorder(wanted=plan.call, calls=plan.calls, found=found)
    with recorder.watching():
        ending = _run(code, name, plan)
    best = recorder.best
    if best is None:
        raise _nothing(plan, recorder, ending)
    # An actor and a critic are two steps, each with an optimizer of its own.
    also = [] if plan.call is not None else [each for each in recorder.steps if each is not best]
    return [_signature(plan, recorder, each, ending) for each in (best, *also)]


def _code(plan: ScriptPlan) -> tuple[CodeType, str]:
    """The script's code, and the name of its file."""
    if plan.module:
        return _code_of_module(plan.script)
    path = Path(plan.script)
    if not path.is_file():
        raise UsageError(f"there is no file {path}", hint="write the path as seen from this folder")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return compile(path.read_bytes(), str(path.absolute()), "exec"), str(path.absolute())
    except (SyntaxError, ValueError) as error:
        raise NothingExaminedError(
            f"{path} is no Python: {first_line(error)}", hint="name a script that runs by itself"
        ) from error


def _code_of_module(name: str) -> tuple[CodeType, str]:
    sys.path.insert(0, str(Path.cwd()))
    for module in (name, f"{name}.__main__"):
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        is_package = spec is not None and spec.submodule_search_locations is not None
        if spec is not None and not is_package and hasattr(spec.loader, "get_code"):
            code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]
            if code is not None:
                return code, str(spec.origin)
    raise UsageError(
        f"there is no module {name} to run", hint="run it from the folder that holds the package"
    )


def _run(code: CodeType, file: str, plan: ScriptPlan) -> Ending:
    """Runs the code as `python script.py` does, and says how it ended."""
    main = ModuleType("__main__")
    main.__file__ = file
    main.__dict__["__builtins__"] = __builtins__
    if plan.module:
        main.__package__ = plan.script.rpartition(".")[0]
    sys.modules["__main__"] = main
    sys.argv = [file, *plan.arguments]
    sys.stdin = _NoInput()
    _end_at(plan.seconds)
    try:
        exec(code, main.__dict__)  # noqa: S102 (what the user asked for)
    except Stop as stop:
        return Ending(str(stop) or "was ended when enough was seen")
    except WaitsForInputError as error:
        return Ending(f"waits for input{_place(error)}", raised=True)
    except SystemExit as error:
        fails = error.code not in {None, 0}
        return Ending(f"exits with {error.code}{_place(error)}" if fails else "ends", raised=fails)
    except BaseException as error:  # noqa: BLE001 (a script may raise anything, KeyboardInterrupt too)
        return Ending(f"raises {first_line(error)}{_place(error)}", raised=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Ending("ends")


def _end_at(seconds: float) -> None:
    """Has the script end after so many seconds, when Python is next asked."""

    def stop(_: int, __: FrameType | None) -> NoReturn:
        raise Stop(f"was ended after {seconds:.0f} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_users(frame.filename) and "site-packages/" not in frame.filename]
    return f" at {shorten(own[-1].filename)}:{own[-1].lineno}" if own else ""


def _nothing(plan: ScriptPlan, recorder: Recorder, ending: Ending) -> Exception:
    entries = list(recorder.entries.values())
    judged = [entry for entry in entries if entry.signature is not None]
    if plan.call is not None and judged:
        return UsageError(
            f"{plan.subject} makes no call {plan.call!r} that returns what it takes",
            hint=f"it makes {'; '.join(entry.place for entry in judged[:MOST_OTHERS])}",
        )
    if not entries:
        seen = "before it calls a jitted function" if ending.raised else "and calls no jitted function"
        return NothingExaminedError(
            f"{plan.subject} {ending.words} {seen}",
            hint="give it the arguments that make it train, after --, or name a function: train.py:make",
        )
    failed = next((entry for entry in entries if entry.error is not None), None)
    why = f"; {failed.place} cannot be traced: {failed.error}" if failed is not None else ""
    return NothingExaminedError(
        f"{plan.subject} {ending.words}; of what it jits nothing returns the state that it takes{why}",
        hint=f"seen: {'; '.join(entry.place for entry in entries[:MOST_OTHERS])}",
    )


def _signature(plan: ScriptPlan, recorder: Recorder, entry: Entry, ending: Ending | None) -> Signature:
    assert entry.signature is not None
    others = [
        f"{each.place}, {each.calls} call{'s' * (each.calls != 1)}"
        for each in recorder.entries.values()
        if each is not entry
    ]
    recorded = Recorded(
        name=entry.name,
        file=entry.file,
        line=entry.line,
        kind=entry.kind,
        calls=entry.calls,
        others=tuple(others[:MOST_OTHERS]),
        compiled=tuple(entry.compiled),
        missed=tuple(entry.missed),
        counted=plan.calls is not None,
    )
    return replace(
        entry.signature,
        target=plan.subject,
        call=recorded,
        notes=tuple(_notes(entry, ending)),
        recompiles=tuple(_recompiles(entry)),
    )


def _recompiles(entry: Entry) -> Iterator[Recompile]:
    """Causes of compiles: those of the types, then those of the calls, then what was counted beyond them."""
    assert entry.signature is not None
    names = entry.subject.data if entry.subject is not None else ()
    fix = dropped(entry.first, entry.odd) if entry.first is not None and entry.odd is not None else None
    causes = [*entry.signature.recompiles, *of_shapes(entry.shapes, names, entry.compiled, fix)]
    if entry.first is not None and entry.later is not None:
        causes += of_later(entry.first, *entry.later)
    yield from causes
    if not causes and entry.signature.rounds is not None and entry.kind != "loop":
        yield from unforeseen(entry.compiled, entry.missed, expected=entry.signature.rounds + 1)


def _notes(entry: Entry, ending: Ending | None) -> Iterator[str]:
    assert entry.signature is not None
    yield from entry.signature.notes
    if ending is not None and ending.raised:
        yield f"the script {ending.words}"
