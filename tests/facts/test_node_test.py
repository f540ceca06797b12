"""A test of a node: three results, and never a pass for what is not known."""

import pytest

from jaxdoctor.facts.node_test import NodeTest


@pytest.mark.parametrize(("passed", "word"), [(True, "PASS"), (False, "FAIL"), (None, "UNKNOWN")])
def test_each_result_has_its_word(passed, word):
    assert NodeTest(name="count", passed=passed, detail="8 cards").word == word
