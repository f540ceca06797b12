"""An update function to check, from a command line or a configuration."""

import pytest

from jaxdoctor.config.settings import UpdateEntry
from jaxdoctor.errors import UsageError
from jaxdoctor.preflight.asks.update import update_wish


def test_an_unknown_setting_of_x64_is_refused():
    with pytest.raises(UsageError, match="setting named 'maybe'"):
        update_wish(UpdateEntry(target="m:f", x64="maybe"), seconds=9)


def test_both_settings_of_x64_are_two():
    wish = update_wish(UpdateEntry(target="m:f", x64="both", params_dtype=("float32", "")), seconds=9)

    assert wish.x64 == (False, True)
    assert wish.params_dtypes == ("float32",)
