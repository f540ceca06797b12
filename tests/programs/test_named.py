"""A name as the user types it, and what is wrong with it."""

import pytest

from jaxdoctor.errors import NothingExaminedError, UnknownNameError, UsageError
from jaxdoctor.programs.named import find, first_line, raised


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "named_here.py"
    path.write_text("class Policy:\n    act = len\n")
    return path


def test_a_function_in_a_file_or_a_module_is_found_along_its_dots(file):
    assert find(f"{file}:Policy.act") is len
    assert find("os.path:join").__name__ == "join"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("act", UsageError),
        ("{file}:", UsageError),
        ("{file}:Polcy", UnknownNameError),
        ("nowhere.py:act", UsageError),
        ("no_such_package.module:act", UsageError),
    ],
)
def test_what_names_nothing_is_a_wrong_call(file, name, error):
    with pytest.raises(error):
        find(name.format(file=file))


def test_an_import_that_raises_says_where(tmp_path):
    (tmp_path / "broken_here.py").write_text("x = 1\nraise ValueError('no gait')\n")

    with pytest.raises(NothingExaminedError, match=r"raises ValueError: no gait") as caught:
        find(f"{tmp_path}/broken_here.py:act")

    assert "broken_here.py:2" in caught.value.hint


def test_of_an_error_the_first_line_is_quoted():
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert str(raised(ValueError("one"), "m:act")) == "m:act raises ValueError: one"
