"""Rules as pages: what `jaxdoctor rule` prints, what SARIF carries, and `docs/rules/`, all of the same text.

`python -m jaxdoctor.rules.pages` writes `docs/rules/` anew; with `--check` it only says whether it would.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jaxdoctor.facts.finding import Finding
from jaxdoctor.rules.rule import RULES, Rule

SCHEMA = "jaxdoctor.rules.rules/1"
URL = "https://github.com/jaxdoctor/jaxdoctor/blob/main/docs/rules/{name}.md"
DOCS = Path(__file__).parents[2] / "docs" / "rules"

GROUPS = {
    "JD1": "Environment",
    "JD2": "Precision and model",
    "JD3": "Checkpoint",
    "JD4": "Run",
    "JD5": "Update",
}


def by_code() -> list[Rule]:
    """All rules, in the order of their codes."""
    return sorted(RULES.load_all(), key=lambda rule: rule.code)


def rules_of(findings: Iterable[Finding]) -> dict[str, Rule]:
    """The rules behind the findings, by code. A finding read from a file may name one that is gone."""
    known = set(RULES.names())
    found = {}
    for code, name in sorted({(finding.code, finding.name) for finding in findings}):
        if name in known and RULES.load(name).code == code:
            found[code] = RULES.load(name)
    return found


def url(rule: Rule) -> str:
    """Where the page stands on the web."""
    return URL.format(name=rule.name)


def page(rule: Rule) -> str:
    """The whole page in Markdown."""
    return f"# {rule.name} ({rule.code}, {rule.severity.word})\n\n{rule.page}\n"


def line(rule: Rule) -> str:
    """The rule in a line of a list."""
    return f"{rule.code}  {rule.severity.word:8}{rule.name:32}{rule.summary}"


def as_json(rules: Iterable[Rule]) -> dict[str, Any]:
    """The rules for programs."""
    return {
        "schema": SCHEMA,
        "rules": [
            {
                "code": rule.code,
                "name": rule.name,
                "severity": rule.severity.word,
                "summary": rule.summary,
                "page": rule.page,
                "url": url(rule),
            }
            for rule in rules
        ],
    }


def documents() -> dict[str, str]:
    """Every file of `docs/rules/` with its text."""
    rules = by_code()
    return {"README.md": _index(rules), **{f"{rule.name}.md": page(rule) for rule in rules}}


def _index(rules: list[Rule]) -> str:
    lines = [
        "# Rules",
        "",
        "Each is a function below `jaxdoctor/rules/`, in the folder of its family, and its",
        "page is that function's docstring:",
        "`python -m jaxdoctor.rules.pages` writes this folder. `jaxdoctor rule CODE` prints the same page.",
    ]
    for prefix, title in GROUPS.items():
        members = [rule for rule in rules if rule.code.startswith(prefix)]
        if members:
            lines += ["", f"## {title}", "", "| code | rule | severity | jaxdoctor found that ... |"]
            lines += ["|---|---|---|---|", *map(_row, members)]
    return "\n".join([*lines, ""])


def _row(rule: Rule) -> str:
    summary = rule.summary.replace("|", "\\|")
    return f"| {rule.code} | [{rule.name}]({rule.name}.md) | {rule.severity.word} | {summary} |"


def stale(folder: Path = DOCS) -> list[str]:
    """Files of the folder that are missing, out of date, or of no rule."""
    wanted = documents()
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in wanted | present if wanted.get(name) != present.get(name))


def write(folder: Path = DOCS) -> list[str]:
    """Brings the folder up to date and returns the files that it changed."""
    folder.mkdir(parents=True, exist_ok=True)
    changed, wanted = stale(folder), documents()
    for name in changed:
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return changed


def main() -> int:
    """Writes, or with `--check` compares, and says which files differ."""
    changed = stale() if "--check" in sys.argv[1:] else write()
    sys.stdout.writelines(f"docs/rules/{name}\n" for name in changed)
    return 1 if changed and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
