"""Saves that their writer will delete."""

import pytest

from jaxdoctor.rules.integrity.temporary_save import temporary_save
from tests.builders import checkpoint, judged


@pytest.mark.parametrize(("mark", "said"), [(True, 1), (False, 0), ("true", 0), (None, 0)])
def test_only_a_mark_is_one(mark, said):
    assert len(judged(temporary_save, checkpoint(metadata={"is_temporary": mark}))) == said
