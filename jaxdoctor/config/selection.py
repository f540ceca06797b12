"""Which configuration applies to a command, and what its command line says instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.config.document import find, others
from jaxdoctor.config.settings import Config, Waiver, load, require_rule, waiver_named
from jaxdoctor.config.waivers import weighed
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import folders, placed, seen_from


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What every command takes about which findings count."""

    config: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    strict: bool = False
    fail_on: str | None = None


def configuration(selection: Selection, inside: Sequence[Path] = ()) -> Config:
    """The nearest configuration at or above the working folder, and what the command line says instead.

    Args:
        selection: what the command line says.
        inside: folders whose content is judged. A configuration in one of them may be its author's, so it
            counts only where it is named.

    Raises:
        UsageError: it cannot be used, or a rule does not exist.
    """
    path = selection.config
    found = None if path is not None else find(Path.cwd())
    if found is not None and _is_inside(found, inside):
        sys.stderr.write(
            f"{os.path.relpath(found)} is inside what is scanned and does not count; name it with --config\n"
        )
        config = Config()
    else:
        config = load(path)
        if found is not None:
            for other in others(found):
                sys.stderr.write(f"{os.path.relpath(other)} does not count beside {found.name}\n")
    return with_options(config, selection)


def _is_inside(path: Path, inside: Iterable[Path]) -> bool:
    return any(folder.is_dir() and path.resolve().is_relative_to(folder.resolve()) for folder in inside)


def with_options(config: Config, selection: Selection) -> Config:
    """The configuration with what the command line says instead, or besides.

    Raises:
        UsageError: a rule does not exist.
    """
    for word in selection.select:
        require_rule(word)
    ignore = tuple(_waivers(selection.ignore, "--ignore")) if selection.ignore else config.ignore
    return replace(
        config,
        select=selection.select or config.select,
        ignore=(*ignore, *_waivers(selection.extend_ignore, "--extend-ignore")),
        strict=selection.strict or config.strict,
        fail_on=selection.fail_on or config.fail_on,
    )


def _waivers(texts: Iterable[str], option: str) -> Iterable[Waiver]:
    return [waiver_named(text, option) for text in texts]


def judged(report: Report, config: Config) -> Report:
    """The report with every finding in its place, and only those that count."""
    where = folders(config.path)
    report = weighed(placed(report, where), config)
    if config.path is None:
        return report
    return replace(report, configuration_file=seen_from(where.root, str(config.path)))
