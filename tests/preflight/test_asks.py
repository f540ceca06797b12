"""Whatever a command can be asked, jaxdoctor.yaml can ask."""

import inspect

import pytest

from jaxdoctor.command import COMMANDS
from jaxdoctor.config.checking import schema
from jaxdoctor.options import SHARED

OF_THE_CALL = {"dry_run", "emit", "watch", "python", "cards"}
"""Options that are about this one call, or stand at the top of the configuration."""

OF_THE_MACHINE = {"expect_card", "expect_count"}

CALLED = {"card": "cards", "paths": "path", "deep": "depth", "metadata_only": "depth", "script": "run"}


@pytest.mark.parametrize(
    ("command", "key"), [("probe", "probe"), ("scan-checkpoint", "scan"), ("check-update", "update")]
)
def test_every_option_of_a_command_is_a_key(command, key):
    options = set(inspect.signature(COMMANDS.load(command).run).parameters) - set(SHARED) - OF_THE_CALL
    options -= OF_THE_MACHINE
    keys = {name.replace("-", "_") for name in schema()["properties"][key]["items"]["properties"]}

    assert {CALLED.get(option, option) for option in options} <= keys


def test_what_is_expected_of_a_node_is_a_key_of_the_machine():
    keys = schema()["properties"]["machine"]["properties"]

    assert {name.replace("_", "-") for name in OF_THE_MACHINE} <= set(keys)


def test_a_shared_option_about_findings_is_a_key():
    keys = {name.replace("-", "_") for name in schema()["properties"]}

    assert {"select", "ignore", "strict", "fail_on"} <= keys & set(SHARED)
