"""Options that several commands share, each said once and checked before any work is done."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxdoctor import __version__
from jaxdoctor.config.selection import Selection, configuration, judged
from jaxdoctor.config.settings import Config
from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.run import Run
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.publish import NEVER, Destination, pair, publish, require_writable, severity_named
from jaxdoctor.reports.wording import summary
from jaxdoctor.rules.rule import RULES
from jaxdoctor.workers.log import listen


def complete_rule(incomplete: str) -> list[str]:
    """Names of rules for the shell, and codes once a J is typed."""
    if incomplete.lower().startswith("jd"):
        return sorted(rule.code for rule in RULES.load_all() if rule.code.startswith(incomplete.upper()))
    return [name for name in RULES.names() if name.startswith(incomplete)]


def _complete_format(incomplete: str) -> list[str]:
    return [name for name in FORMATS.names() if name.startswith(incomplete)]


def _complete_severity(incomplete: str) -> list[str]:
    words = [*(severity.word for severity in Severity), NEVER]
    return [word for word in words if word.startswith(incomplete)]


def _known_formats(names: list[str] | None) -> list[str] | None:
    for name in names or ():
        FORMATS.load(name)
    return names


def _writable(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or ():
        require_writable(path)
    return paths


def only_one(option: typer.CallbackParam, paths: list[Path] | None) -> list[Path] | None:
    """Insists that an option names one file: of two the first would be left out without a word.

    Raises:
        UsageError: there are several.
    """
    if paths and len(paths) > 1:
        raise UsageError(
            f"{option.opts[0]} is given {len(paths)} times: {', '.join(map(str, paths))}",
            hint="call this once for each",
        )
    return paths


def _known_severity(name: str | None) -> str | None:
    if name is not None:
        severity_named(name)
    return name


def _log(wanted: bool) -> bool:
    if wanted:
        listen()
    return wanted


def _examine(python: str | None) -> str | None:
    from jaxdoctor.workers.interpreter import choose  # noqa: PLC0415 (help needs no subprocesses)

    choose(python)
    return python


SHOWN, COUNTED = "What is shown", "What counts"
"""Titles in the help of every command."""

PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="The Python of the environment in which you train, or that environment's folder: JAX and MuJoCo "
        "are taken from there, and nothing in it is changed. JAXDOCTOR_PYTHON by default, else our own.",
        callback=_examine,
    ),
]


def _known_rules(words: list[str] | None) -> list[str] | None:
    """Words of `--select`, each rule apart: "JD1,JD3" is two."""
    return (
        None
        if words is None
        else [word.strip() for text in words for word in text.split(",") if word.strip()]
    )


COLORS = ("auto", "always", "never")


def _color(when: str) -> str:
    """Through the environment, which is where Rich and every worker look."""
    if when not in COLORS:
        raise UnknownNameError("--color setting", when, COLORS)
    if when != "auto":
        os.environ.pop("NO_COLOR", None)
        os.environ.pop("FORCE_COLOR", None)
        os.environ["FORCE_COLOR" if when == "always" else "NO_COLOR"] = "1"
    return when


def _formats_help() -> str:
    return f"How to write the report: {', '.join(FORMATS.names())}. Repeatable, each with its --output."


QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=SHOWN, help="No progress on stderr.")
]


def complete_card(incomplete: str) -> list[str]:
    """Names of cards for the shell."""
    from jaxdoctor.machine.card import known_cards  # noqa: PLC0415 (help needs no cards)

    return [card.name for card in known_cards() if card.name.startswith(incomplete)]


def _known_cards(names: list[str] | None) -> list[str] | None:
    from jaxdoctor.machine.card import card_named  # noqa: PLC0415 (help needs no cards)

    for name in names or ():
        card_named(name)
    return names


def complete_judged(incomplete: str) -> list[str]:
    """The same with the machine that is here."""
    from jaxdoctor.machine.card import HERE  # noqa: PLC0415 (help needs no cards)

    return [*([HERE] if HERE.startswith(incomplete) else []), *complete_card(incomplete)]


CardOption = Annotated[
    str,
    typer.Option(
        "--card",
        metavar="CARD",
        help="The accelerator to judge for: here, or one that `jaxdoctor cards` lists.",
        autocompletion=complete_judged,
    ),
]

CacheOption = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Keep compiled programs in the user's cache folder.")
]

CardsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--card",
        metavar="CARD",
        help="Also judge what this card makes of bfloat16: one that `jaxdoctor cards` lists. Repeatable.",
        autocompletion=complete_card,
        callback=_known_cards,
    ),
]

VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        rich_help_panel=SHOWN,
        help="Show the machine and all tables; log to stderr.",
        callback=_log,
    ),
]

Parameters = Mapping[str, tuple[Any, Any]]
"""Names of parameters with annotation and default."""

SHARED: Parameters = {
    "formats": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--format",
                rich_help_panel=SHOWN,
                metavar="FORMAT",
                help=_formats_help(),
                autocompletion=_complete_format,
                callback=_known_formats,
            ),
        ],
        None,
    ),
    "outputs": (
        Annotated[
            list[Path] | None,
            typer.Option(
                "--output",
                "-o",
                rich_help_panel=SHOWN,
                metavar="FILE",
                help="Write to this file, in the format of its suffix; - is stdout. Repeatable.",
                callback=_writable,
            ),
        ],
        None,
    ),
    "fail_on": (
        Annotated[
            str | None,
            typer.Option(
                "--fail-on",
                rich_help_panel=COUNTED,
                metavar="SEVERITY",
                help="Exit with 1 from this severity on: error, warning, note or never; error by default.",
                autocompletion=_complete_severity,
                callback=_known_severity,
            ),
        ],
        None,
    ),
    "strict": (
        Annotated[
            bool,
            typer.Option(
                "--strict",
                rich_help_panel=COUNTED,
                help="Exit with 3 if anything at all was not examined, also if not named.",
            ),
        ],
        False,
    ),
    "select": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--select",
                rich_help_panel=COUNTED,
                metavar="RULES",
                help="Judge by these rules only: codes, beginnings such as JD3, or names. Repeatable.",
                callback=_known_rules,
            ),
        ],
        None,
    ),
    "ignore": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--ignore",
                rich_help_panel=COUNTED,
                metavar="RULE[:PATH][=REASON]",
                help="Set these findings aside, instead of those that the configuration ignores. Repeatable.",
            ),
        ],
        None,
    ),
    "extend_ignore": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--extend-ignore",
                rich_help_panel=COUNTED,
                metavar="RULE[:PATH][=REASON]",
                help="The same besides those that the configuration ignores. Repeatable.",
            ),
        ],
        None,
    ),
    "statistics": (
        Annotated[
            bool,
            typer.Option(
                "--statistics",
                rich_help_panel=SHOWN,
                help="Count the findings of each rule instead of listing them.",
            ),
        ],
        False,
    ),
    "config": (
        Annotated[
            list[Path] | None,
            typer.Option(
                "--config",
                rich_help_panel=COUNTED,
                metavar="FILE",
                help="jaxdoctor.yaml or pyproject.toml; the nearest from the working folder up by default.",
                callback=only_one,
            ),
        ],
        None,
    ),
    "color": (
        Annotated[
            str,
            typer.Option(
                "--color",
                rich_help_panel=SHOWN,
                metavar="WHEN",
                help="auto, always or never; auto obeys NO_COLOR and FORCE_COLOR.",
                callback=_color,
            ),
        ],
        "auto",
    ),
    "quiet": (QuietOption, False),
    "verbose": (VerboseOption, False),
}
"""What every command takes that gives a report."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """The shared options of one call."""

    formats: tuple[str, ...] = ()
    outputs: tuple[Path, ...] = ()
    selection: Selection
    statistics: bool = False
    quiet: bool = False
    verbose: bool = False
    began: float = field(default_factory=time.time)

    def stamped(self, report: Report) -> Report:
        """The report with when, where and how it was made."""
        import platform  # noqa: PLC0415 (help needs none of it)
        import shlex  # noqa: PLC0415

        run = Run(
            began=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began)),
            seconds=round(time.time() - self.began, 3),
            host=platform.node(),
            command=shlex.join(["jaxdoctor", *sys.argv[1:]]),
            versions={"jaxdoctor": __version__, "python": platform.python_version()},
        )
        return replace(report, run=run)

    def configuration(self, inside: Sequence[Path] = ()) -> Config:
        """The configuration that applies, after the outputs were found to fit their formats.

        Raises:
            UsageError: it cannot be used, or a format contradicts its file.
        """
        pair(self.formats, self.outputs)
        return configuration(self.selection, inside)

    @property
    def destinations(self) -> list[Destination]:
        """Each format with its file."""
        return pair(self.formats, self.outputs)

    def judging(self, config: Config) -> Callable[[Report], Report]:
        """What applies the configuration to a report, and the options to how it is shown."""
        return lambda report: self._shown(self.stamped(judged(report, config)))

    def _shown(self, report: Report) -> Report:
        return replace(report, statistics=self.statistics, verbose=self.verbose)

    def publish(self, report: Report, config: Config) -> int:
        """Judges what counts, writes the report, and returns the exit code."""
        return self.write(self.stamped(judged(report, config)), config)

    def write(self, report: Report, config: Config) -> int:
        """Writes a report that was judged already."""
        report = self._shown(report)
        code = publish(report, self.formats, self.outputs, config.fail_on)
        files = [str(path) for _, path in self.destinations if path is not None]
        if len(files) == len(self.destinations) and not self.quiet:
            # Nothing stands on stdout, so that people would not know what was found.
            typer.echo(f"wrote {', '.join(files)}: {summary(report)}", err=True)
        return code


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a parameter `shared`: its command line takes the options of `SHARED` besides its own."""
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name != "shared"]
    taken = {option for one in own for option in _flags(one.annotation)}
    added = {
        name: (annotation, default)
        for name, (annotation, default) in SHARED.items()
        if not taken & set(_flags(annotation))
    }

    @functools.wraps(command)
    def call(**values: Any) -> None:
        given = {name: values.pop(name) for name in added}
        command(**values, shared=_shared(given))

    parameters = [
        *own,
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, (annotation, default) in added.items()
        ),
    ]
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    call.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return call


def _flags(annotation: Any) -> Sequence[str]:
    """The words that an option is given by; none of an argument."""
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, typer.models.OptionInfo):
            return extra.param_decls or ()
    return ()


def _shared(given: Mapping[str, Any]) -> Shared:
    return Shared(
        formats=tuple(given["formats"] or ()),
        outputs=tuple(given["outputs"] or ()),
        statistics=given["statistics"],
        quiet=given["quiet"],
        verbose=given["verbose"],
        selection=Selection(
            config=given["config"][0] if given["config"] else None,
            select=tuple(given["select"] or ()),
            ignore=tuple(given["ignore"] or ()),
            extend_ignore=tuple(given["extend_ignore"] or ()),
            strict=given["strict"],
            fail_on=given["fail_on"],
        ),
    )
