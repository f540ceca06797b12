"""An update function to check, from a command line or a configuration."""

import pytest

from jaxdoctor.config.settings import UpdateEntry
from jaxdoctor.errors import UsageError
from jaxdoctor.preflight.asks.update import update_wish


def test_an_unknown_setting_of_x64_is_refused():
    with pytest.raises(UsageError, match="setting named 'maybe'"):
        update_wish(UpdateEntry(target="m:f", x64="maybe"), seconds=9)


@pytest.mark.parametrize(
    ("entry", "script", "arguments", "module"),
    [
        (UpdateEntry(run="train.py", arguments=("--fast",)), "train.py", ("--fast",), False),
        (UpdateEntry(run="train.py", target="one", arguments=("two",)), "train.py", ("one", "two"), False),
        (UpdateEntry(run="-m package.train"), "package.train", (), True),
        (UpdateEntry(run="-m", target="package.train", arguments=("x",)), "package.train", ("x",), True),
    ],
)
def test_a_script_is_meant_as_on_the_command_line(entry, script, arguments, module):
    wish = update_wish(entry, seconds=9)

    assert wish.target == ""
    assert (wish.script.script, wish.script.arguments, wish.script.module) == (script, arguments, module)


def test_a_call_of_no_script_is_refused():
    with pytest.raises(UsageError, match="are for a script"):
        update_wish(UpdateEntry(target="m:f", call="step"), seconds=9)


def test_both_settings_of_x64_are_two():
    wish = update_wish(UpdateEntry(target="m:f", x64="both", params_dtype=("float32", "")), seconds=9)

    assert wish.x64 == (False, True)
    assert wish.params_dtypes == ("float32",)
