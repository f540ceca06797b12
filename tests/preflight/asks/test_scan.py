"""Checkpoints to judge, from a command line or a configuration."""

import pytest

from jaxdoctor.config.settings import ScanEntry
from jaxdoctor.errors import UsageError
from jaxdoctor.preflight.asks.scan import scan_options


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ScanEntry(path="x", role=("*=countr",)), "role named 'countr'"),
        (ScanEntry(path="x", expect_dtype=("parameter=f33",)), "names no dtype"),
        (ScanEntry(path="x", max_memory="much"), "much"),
    ],
)
def test_what_cannot_be_meant_is_said_before_the_work(entry, message):
    with pytest.raises(UsageError, match=message):
        scan_options(entry)


def test_an_entry_says_what_the_command_line_would():
    options = scan_options(
        ScanEntry(path="x", role=("*/visits=counter",), expect_dtype=("parameter=float32",), planned_steps=7)
    )

    assert [(one.pattern, one.role.value) for one in options.roles] == [("*/visits", "counter")]
    assert {role.value: dtype for role, dtype in options.expectations.dtypes.items()} == {
        "parameter": "float32"
    }
    assert options.expectations.planned_steps == 7
