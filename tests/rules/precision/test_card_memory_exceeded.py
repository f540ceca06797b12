"""JD253."""

import pytest

from jaxdoctor.facts.memory import Memory
from jaxdoctor.rules.diagnose import diagnose
from tests.outcomes import outcome

MIB, GIB = 2**20, 2**30


def found(memory, **fields):
    return [finding for finding in diagnose([outcome(memory=memory, **fields)]) if finding.code == "JD253"]


def test_a_batch_that_only_x64_makes_too_large():
    memory = Memory(replay=4 * MIB, x64=8 * MIB, batch=4096, card=24 * GIB)

    (finding,) = found(memory, failed=16, full=16, required=24)

    assert "4096 environments take about 32.0 GiB at x64 and rtx-4090 has 24.0 GiB" in finding.message
    assert finding.fix == "step at most 3072 environments at once"
    assert not found(memory)


@pytest.mark.parametrize("missing", [{"batch": None}, {"card": None}])
def test_nothing_is_said_where_a_size_is_not_known(missing):
    assert not found(Memory(**{"replay": GIB, "x64": GIB, "batch": 4096, "card": GIB, **missing}))
