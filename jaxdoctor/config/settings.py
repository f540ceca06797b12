"""A configuration as a value: what to examine, and what counts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.config.document import YAML_WORDS, Located, find, parse
from jaxdoctor.errors import ConfigError, UnknownNameError
from jaxdoctor.rules.rule import RULES


@dataclass(frozen=True, kw_only=True)
class ProbeEntry:
    """A rollout to replay."""

    model: str | None = None
    scenario: str | None = None
    function: str | None = None
    """"package.module:function" or "file.py:function"."""

    args: str | None = None
    """The function that returns the arguments of a call."""

    check: str | None = None
    """The function that says of an output whether it is bad."""

    env: str | None = None
    """An environment: "brax:ant", "playground:CartpoleBalance", or a function that makes one."""

    policy: str | None = None
    """What drives it: a checkpoint, or a function that makes a policy."""

    network: str | None = None
    """The function that makes the network of a checkpoint that does not say."""

    controls: str | None = None
    cards: tuple[str, ...] = ()
    level: int | None = None
    steps: int | None = None
    replays: int | None = None
    batch: int | None = None
    training_batch: int | None = None
    """Environments that the run steps at once."""

    seed: int = 0
    precision: tuple[str, ...] = ()
    time_limit: float | None = None
    price: bool = False
    attribute: bool = False
    attribute_error: float | None = None
    """A one-step error for which the products are searched that it needs."""

    cache: bool = True
    cures: bool = True
    engine: str = "mjx"
    bundle: str | None = None
    """The file that the first failing replay is written into."""

    bundle_policy: bool = False
    at: str = field(default="", compare=False)
    """Where the configuration names it: "jaxdoctor.yaml:5"."""


@dataclass(frozen=True, kw_only=True)
class ScanEntry:
    """Checkpoints to judge."""

    path: str
    depth: str = "sample"
    series: bool | None = None
    planned_steps: int | None = None
    steps_per_second: float | None = None
    expect_dtype: tuple[str, ...] = ()
    """Each "ROLE=DTYPE"."""

    role: tuple[str, ...] = ()
    """Each "PATTERN=ROLE"."""

    max_memory: str = "512MiB"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    leaves: bool = False
    at: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class UpdateEntry:
    """An update function to check, or a training script to run."""

    target: str = ""
    run: str | None = None
    """A script, or "-m" and a module."""

    arguments: tuple[str, ...] = ()
    """The script's own."""

    call: str | None = None
    calls: int | None = None
    params: str | None = None
    params_dtype: tuple[str, ...] = ()
    x64: str = "off"
    calls_per_second: float | None = None
    time_limit: float | None = None
    at: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Subjects that may stay unknown."""

    subject: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """Findings to live with."""

    rule: str
    reason: str
    path: str | None = None
    leaf: str | None = None


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that a file says. Without one: the machine only."""

    path: Path | None = None
    cards: tuple[str, ...] = ()
    expect_card: str | None = None
    expect_count: int | None = None
    probes: tuple[ProbeEntry, ...] = ()
    scans: tuple[ScanEntry, ...] = ()
    updates: tuple[UpdateEntry, ...] = ()
    level: int = 2
    select: tuple[str, ...] = ()
    ignore: tuple[Waiver, ...] = ()
    allow_unknown: tuple[Allowance, ...] = ()
    strict: bool = False
    severity: Mapping[str, str] = field(default_factory=dict)
    margin_bits: int | None = None
    fail_on: str = "error"
    time_limit: float = 900.0
    baseline: str | None = None
    python: str | None = None

    @property
    def folder(self) -> Path:
        """What the paths in it start from."""
        return Path.cwd() if self.path is None else self.path.parent


def load(path: Path | None, folder: Path | None = None) -> Config:
    """The configuration in that file, else the nearest one from the folder upwards, else the empty one.

    Raises:
        ConfigError: it cannot be read, does not fit the schema, or names a rule that does not exist.
    """
    chosen = path or find(folder or Path.cwd())
    if chosen is None:
        return Config()
    if path is None and folder is None:
        # Messages and the report name it as the user would.
        chosen = Path(os.path.relpath(chosen))
    from jaxdoctor.config.checking import check  # noqa: PLC0415 (most scans have no configuration)

    document = parse(chosen)
    check(document, chosen)
    _check_rules(document, chosen)
    return _config(document, chosen)


def _check_rules(document: Located, path: Path) -> None:
    values = document.value
    named: list[tuple[str, int | None]] = []
    if "select" in values:
        named += [(item.value, item.line) for item in values["select"].value]
    for item in values["ignore"].value if "ignore" in values else ():
        rule = item.value["rule"]
        named.append((rule.value, rule.line))
        pattern = item.value["path"].value if "path" in item.value else None
        _require_place(rule.value, pattern, f"{path}:{rule.line}" if rule.line else str(path))
    if "severity" in values:
        named += list(values["severity"].key_lines.items())
    for name, line in named:
        _require_rule(name, f"{path}:{line}" if line else str(path))


def _require_rule(name: str, where: str) -> None:
    try:
        require_rule(name)
    except UnknownNameError as error:
        raise ConfigError(f"{where}: {error}", hint=error.hint) from None


HOSTILE = ("JD336", "hostile-content")
"""What nobody ignores by accident: only with a path and a reason, and never by a baseline."""


def names_a_place(pattern: str | None) -> bool:
    """Whether a pattern of paths says where, and is not only wildcards."""
    return pattern is not None and bool(pattern.strip("*?/.[]!"))


def _require_place(rule: str, pattern: str | None, where: str) -> None:
    if rule.upper().replace("-", "_") in {word.upper().replace("-", "_") for word in HOSTILE} and (
        not names_a_place(pattern)
    ):
        raise ConfigError(
            f"{where}: {rule} is ignored without a path",
            hint="hostile content is ignored only at a path that you name, with the reason why you trust it",
        )


def waiver_named(text: str, option: str) -> Waiver:
    """What `--ignore RULE[:PATH][=REASON]` means.

    Raises:
        UsageError: there is no such rule, or hostile content is to be ignored anywhere.
    """
    words, _, reason = text.partition("=")
    rule, _, path = words.partition(":")
    require_rule(rule.strip())
    _require_place(rule.strip(), path or None, option)
    return Waiver(rule=rule.strip(), path=path or None, reason=reason.strip() or f"{option} {words}")


def require_rule(word: str) -> None:
    """Insists that the word names a rule, or the beginning of codes.

    Raises:
        UnknownNameError: it does not.
    """
    known = [*RULES.names(), *(rule.code for rule in RULES.load_all())]
    if not any(matches(word, code_or_name, code_or_name) for code_or_name in known):
        raise UnknownNameError("rule", word, known)


def matches(word: str, code: str, name: str) -> bool:
    """Whether a word of the configuration means that rule: its name, its code, or the code's beginning."""
    begins = word.upper().startswith("JD") and code.startswith(word.upper())
    return begins or name == word.lower().replace("_", "-")


def _config(document: Located, path: Path) -> Config:
    values = document.plain
    keys = {
        "level": "level",
        "severity": "severity",
        "fail-on": "fail_on",
        "baseline": "baseline",
        "python": "python",
        "strict": "strict",
    }
    stated = {name: values[key] for key, name in keys.items() if key in values}
    if "time-limit" in values:
        stated["time_limit"] = float(values["time-limit"])
    return Config(
        path=path,
        cards=tuple(values.get("machine", {}).get("cards", ())),
        expect_card=values.get("machine", {}).get("expect-card"),
        expect_count=values.get("machine", {}).get("expect-count"),
        probes=tuple(ProbeEntry(**entry) for entry in _entries(document, "probe", path)),
        scans=tuple(ScanEntry(**entry) for entry in _entries(document, "scan", path)),
        updates=tuple(UpdateEntry(**entry) for entry in _entries(document, "update", path)),
        select=tuple(values.get("select", ())),
        ignore=tuple(Waiver(**_fields(entry)) for entry in values.get("ignore", ())),
        allow_unknown=tuple(Allowance(**_fields(entry)) for entry in values.get("allow-unknown", ())),
        margin_bits=values.get("tolerance", {}).get("margin-bits"),
        **stated,
    )


def _entries(document: Located, key: str, path: Path) -> list[dict[str, Any]]:
    """The fields of each entry, and the line in which it begins."""
    found = document.value.get(key)
    entries = found.value if found is not None else []
    return [{**_fields(one.plain), "at": f"{path}:{one.line}" if one.line else str(path)} for one in entries]


def _fields(entry: dict[str, Any]) -> dict[str, Any]:
    """Keys as our fields are called, and values as a command line has them: `x64: off` is a word."""
    fields = {key.replace("-", "_"): _argument(value) for key, value in entry.items()}
    if "x64" in fields:
        fields["x64"] = _word(fields["x64"])
    return fields


def _argument(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(f"{name}={inner}" for name, inner in value.items())
    return tuple(value) if isinstance(value, list) else value


def _word(value: Any) -> Any:
    return YAML_WORDS[value] if isinstance(value, bool) else value
