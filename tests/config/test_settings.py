"""jaxdoctor.yaml and [tool.jaxdoctor]: found, checked, understood."""

import json
import os

import jsonschema
import pytest

from jaxdoctor.config.checking import schema
from jaxdoctor.config.document import find, others, parse
from jaxdoctor.config.settings import Config, load
from jaxdoctor.config.starter import starter, write_starter
from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.models.scenario import SCENARIOS
from tests.paths import ROOT

EXAMPLE = ROOT / "examples" / "jaxdoctor.yaml"


def loaded(folder, text, name="jaxdoctor.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load(path)


def refused(folder, text, name="jaxdoctor.yaml"):
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text, name)
    return str(caught.value).removeprefix(str(folder / name)), caught.value.hint


def keys(rule, path=""):
    """Every key that a schema knows, with the path to it."""
    found = set()
    for name, inner in rule.get("properties", {}).items():
        found |= (
            {f"{path}{name}"} | keys(inner, f"{path}{name}.") | keys(inner.get("items", {}), f"{path}{name}.")
        )
    return found


def used(value, path=""):
    if isinstance(value, list):
        return set().union(*(used(item, path) for item in value))
    if not isinstance(value, dict):
        return set()
    return set().union(*({f"{path}{name}"} | used(inner, f"{path}{name}.") for name, inner in value.items()))


def test_the_schema_is_a_json_schema_and_says_what_each_key_means():
    jsonschema.Draft202012Validator.check_schema(schema())

    def described(rule):
        for inner in rule.get("properties", {}).values():
            assert inner["description"]
            described(inner)
            described(inner.get("items", {}))

    described(schema())


def test_the_example_has_every_key_and_fits():
    document = parse(EXAMPLE).plain
    free = {"scan.expect-dtype.parameter", "scan.role.*/visits", "severity.JD312"}

    assert used(document) - free == keys(schema())
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert load(EXAMPLE).probes[0].precision == ("bf16", "13")


def test_what_the_example_names_is_there():
    """But for what its training run writes and a baseline is written to."""
    config = load(EXAMPLE)
    files = [probe.model for probe in config.probes if probe.model] + [config.probes[0].controls]
    files += [entry.target.partition(":")[0] for entry in config.updates if ".py:" in entry.target]

    assert [name for name in files if not (EXAMPLE.parent / name).is_file()] == []
    assert {probe.scenario for probe in config.probes if probe.scenario} <= set(SCENARIOS.names())


def test_the_starter_fits_and_examines_the_machine(tmp_path):
    config = load(write_starter(tmp_path / "jaxdoctor.yaml"))

    assert (config.cards, config.probes, config.level) == (("here",), (), 2)
    with pytest.raises(UsageError, match="exists already"):
        write_starter(tmp_path / "jaxdoctor.yaml")


def test_what_the_starter_comments_out_fits_too(tmp_path):
    """A user removes the signs and has a file that works."""
    lines = [line.removeprefix("# ") if line.startswith(("# p", "# s", "# u", "# i", "#  ")) else line
             for line in starter().splitlines()]  # fmt: skip

    config = loaded(tmp_path, "\n".join(lines))

    assert (len(config.probes), len(config.scans), len(config.updates), len(config.ignore)) == (1, 1, 1, 1)


def test_it_is_found_upwards_and_yaml_comes_before_pyproject(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "pyproject.toml").write_text("[tool.jaxdoctor]\nlevel = 1\n")
    assert find(inner) == tmp_path / "pyproject.toml"

    (tmp_path / "jaxdoctor.yaml").write_text("level: 3\n")

    assert load(None, inner).level == 3
    assert load(None, inner).folder == tmp_path
    assert others(tmp_path / "jaxdoctor.yaml") == [tmp_path / "pyproject.toml"]


def test_a_closed_folder_above_is_an_error_of_the_call(tmp_path, monkeypatch):
    def closed(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", closed)
        with pytest.raises(ConfigError) as raised:
            find(tmp_path)

    assert str(raised.value) == f"{tmp_path}/jaxdoctor.yaml cannot be looked for: permission denied"
    assert "--config" in raised.value.hint


def test_without_a_file_there_is_an_empty_configuration(tmp_path):
    assert load(None, tmp_path) == Config()


def test_pyproject_says_the_same_as_yaml(tmp_path):
    toml = '[tool.jaxdoctor]\nlevel = 1\nfail-on = "note"\n'
    toml += '[[tool.jaxdoctor.scan]]\npath = "runs"\nplanned-steps = 5\n'
    yaml = "level: 1\nfail-on: note\nscan: [{path: runs, planned-steps: 5}]\n"

    from_toml, from_yaml = loaded(tmp_path, toml, "pyproject.toml"), loaded(tmp_path, yaml)

    assert from_toml.scans == from_yaml.scans
    assert (from_toml.level, from_toml.fail_on) == (from_yaml.level, from_yaml.fail_on) == (1, "note")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("levl: 2", ":1: the configuration has no key 'levl'", "did you mean 'level'?"),
        ("scan:\n- path: x\n  planed-steps: 2", ":3: an entry of 'scan' has no key 'planed-steps'",
         "did you mean 'planned-steps'?"),
        ("level: 4", ":1: 'level' is 4", "it must be at most 3"),
        ("level: yes", ":1: 'level' is True", "it must be a whole number"),
        ("\nprobe:\n- steps: 3",
         ":3: an entry of 'probe' needs either 'model' or 'scenario' or 'function'", "one of"),
        ("probe:\n- {model: a, scenario: b}", ":2: an entry of 'probe' needs either", "one of them"),
        ("ignore:\n- rule: JD101", ":2: an entry of 'ignore' lacks 'reason'", "add it: Why"),
        ("ignore:\n- rule: JD101\n  reason: ' '", ":3: 'reason' is ' '", "say why"),
        ("fail-on: eror", ":1: 'fail-on' cannot be 'eror'", "did you mean 'error'?"),
        ("select: [JD101, tf32-by-defualt]", ":1: there is no rule named 'tf32-by-defualt'",
         "did you mean 'tf32-by-default'?"),
        ("severity:\n  JD999: note", ":2: there is no rule named 'JD999'", ""),
        ("scan: runs", ":1: 'scan' is 'runs'", "it must be a list"),
        ("time-limit: 0", ":1: 'time-limit' is 0", "it must be more than 0"),
        ("level: 2\nlevel: 3", ":2: 'level' stands there twice, first in line 1", "keep one"),
        ("level: [", ":1 is no YAML", "the line and the one before"),
        ("- level", ":1: the configuration is a list", "it must be a mapping"),
        ("level: !!python/object/apply:os.system [id]", ":1: 'level' is a list", ""),
        ("level: !!python/name:os.system", ":1 is no YAML", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_names_the_line_and_what_was_meant(tmp_path, text, message, hint):
    said, help_text = refused(tmp_path, text)

    assert said.startswith(message)
    assert hint in help_text


def test_toml_names_lines_too(tmp_path):
    text = "[project]\nname = 'x'\n\n[tool.jaxdoctor]\nlevel = 2\n"
    text += "[[tool.jaxdoctor.scan]]\npath = 'x'\ndeepth = 'x'\n"

    said, hint = refused(tmp_path, text, "pyproject.toml")

    assert said.startswith(":8: an entry of 'scan' has no key 'deepth'")
    assert "did you mean 'depth'?" in hint


def test_toml_names_the_line_of_the_entry_that_is_wrong(tmp_path):
    """The same key stands in a healthy entry before it, in a comment and in a string."""
    text = '''
[project]
description = """
depth = 'nothing'
"""

[tool.ruff]
line-length = 100

[[tool.jaxdoctor.scan]]
path = "a"
depth = "deep"

[[tool.jaxdoctor.scan]]
path = "b"
# depth = "deep"
depth = "deepp"

[tool.jaxdoctor]
ignore = [
  {rule = "JD101", reason = "known"},
  {rule = "JD102", reazon = "known"},
]
'''
    said, _ = refused(tmp_path, text, "pyproject.toml")
    assert said.startswith(":17: 'depth' cannot be 'deepp'")

    said, _ = refused(tmp_path, text.replace("deepp", "deep"), "pyproject.toml")
    assert said.startswith(":22: an entry of 'ignore'")


def test_toml_that_cannot_be_parsed_names_the_line(tmp_path):
    said, hint = refused(tmp_path, "[project]\nname = 'x'\n[tool.jaxdoctor]\nlevel = = 2\n", "pyproject.toml")

    assert said.startswith(":4 is no TOML")
    assert "the line and the one before" in hint


def test_entries_know_their_lines_in_both_forms(tmp_path):
    yaml = loaded(tmp_path, "scan:\n- path: a\n\n- path: b\n")
    toml = loaded(
        tmp_path, "[[tool.jaxdoctor.scan]]\npath='a'\n\n[[tool.jaxdoctor.scan]]\npath='b'\n", "pyproject.toml"
    )

    assert [entry.at.rpartition(":")[2] for entry in yaml.scans] == ["2", "4"]
    assert [entry.at.rpartition(":")[2] for entry in toml.scans] == ["1", "4"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_a_file_that_cannot_be_read_is_one_error(tmp_path, content):
    path = tmp_path / "jaxdoctor.yaml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match="cannot be read") as caught:
        load(path)

    assert "--init" in caught.value.hint
    assert caught.value.exit_code == 2


def test_yaml_words_that_look_like_booleans_are_words(tmp_path):
    """`x64: off` is the word off, though YAML 1.1 reads False."""
    config = loaded(tmp_path, "update:\n- {target: 'm:f', x64: off}\n- {target: 'm:f', x64: 'on'}\n")

    assert [entry.x64 for entry in config.updates] == ["off", "on"]


def test_an_empty_file_is_an_empty_configuration(tmp_path):
    assert loaded(tmp_path, "# nothing\n").level == Config().level


def test_the_schema_is_one_that_editors_can_read():
    assert json.dumps(schema())
