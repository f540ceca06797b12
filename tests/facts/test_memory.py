"""What a replay takes of the memory."""

from jaxdoctor.facts.memory import Memory


def test_what_a_batch_takes():
    memory = Memory(replay=100.0, x64=190.0, batch=10)

    assert memory.ratio == 1.9
    assert (memory.needed(x64=False), memory.needed(x64=True)) == (1000.0, 1900.0)


def test_what_was_not_compiled_is_not_known():
    memory = Memory(replay=100.0, batch=10)

    assert memory.ratio is None
    assert memory.needed(x64=True) is None
    assert Memory(replay=100.0).needed(x64=False) is None
