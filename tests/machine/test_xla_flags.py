"""XLA_FLAGS as XLA's own parser reads it; each case was tried on jaxlib 0.10.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxdoctor.machine.xla_flags import XlaFlags, read_xla_flags


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        (
            "--xla_gpu_ftz=true --xla_gpu_autotune_level=0",
            {"xla_gpu_ftz": "true", "xla_gpu_autotune_level": "0"},
        ),
        ("  --xla_gpu_ftz\t\n--xla_a=1 ", {"xla_gpu_ftz": "true", "xla_a": "1"}),
        ("--xla_a=1 --xla_a=2", {"xla_a": "2"}),
        ("--xla_dump_to='/tmp/my dumps' --xla_a", {"xla_dump_to": "/tmp/my dumps", "xla_a": "true"}),
        ('--xla_dump_to="/tmp/my \\"dumps\\"" --xla_a', {"xla_dump_to": '/tmp/my "dumps"', "xla_a": "true"}),
        ("--xla_dump_to='unclosed --xla_a", {"xla_dump_to": "unclosed --xla_a"}),
        ("--xla_a=", {"xla_a": ""}),
        ("--xla_a=b=c", {"xla_a": "b=c"}),
        ("-xla_gpu_ftz", {"xla_gpu_ftz": "true"}),
        ("", {}),
        (None, {}),
    ],
)
def test_flags_are_read_as_xla_reads_them(variable, values):
    flags = read_xla_flags(variable)

    assert flags.values == values
    assert (flags.unread, flags.trouble) == ("", None)


def test_a_value_behind_a_space_ends_the_reading():
    """XLA stops at the first word without a dash and does not say so."""
    flags = read_xla_flags("--xla_gpu_autotune_level 4 --xla_gpu_ftz=true")

    assert flags.values == {"xla_gpu_autotune_level": "true"}
    assert flags.unread == "4 --xla_gpu_ftz=true"


def test_a_word_without_a_dash_in_front_is_a_file(tmp_path):
    file = tmp_path / "flags"
    file.write_text("--xla_gpu_ftz=true\n--xla_a='b c'\n")

    flags = read_xla_flags(str(file))

    assert flags.values == {"xla_gpu_ftz": "true", "xla_a": "b c"}
    assert flags.file == str(file)


@pytest.mark.parametrize("variable", ["xla_gpu_ftz=true", "'--xla_gpu_ftz=true'", "a\0b"])
def test_a_file_that_is_not_there_is_told(variable):
    flags = read_xla_flags(variable)

    assert flags.arguments == ()
    assert "takes it for a file" in flags.trouble


def test_flags_can_be_left_out():
    flags = read_xla_flags("--xla_a=1 --xla_b='x y' --xla_c")

    assert flags.without({"--xla_a=1"}) == "--xla_b='x y' --xla_c"


@given(st.text(alphabet="-_ab=\"'\\ \t\n4é", max_size=40).map(lambda text: f"--x{text}"))
def test_what_is_written_back_is_read_as_the_same(variable):
    flags = read_xla_flags(variable)
    again = read_xla_flags(flags.without(()))

    assert again == XlaFlags(arguments=flags.arguments)
