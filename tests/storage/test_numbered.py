"""Files numbered k of n."""

from jaxdoctor.storage.numbered import MOST, numbered


def test_what_lacks_is_named():
    """Counted from 1 as models are, or from 0 as TensorFlow and Grain do."""
    names = [
        *(f"model-{k:05d}-of-00004.safetensors" for k in (1, 2, 4)),
        "process_0-of-2.json", "ckpt-1.data-00000-of-00001", "notes.txt", "4-of-diamonds",
    ]  # fmt: skip

    missing = {one.present[0]: one.missing for one in numbered(names)}

    assert missing == {
        "model-00001-of-00004.safetensors": ("model-00003-of-00004.safetensors",),
        "process_0-of-2.json": ("process_1-of-2.json",),
        "ckpt-1.data-00000-of-00001": (),
    }


def test_where_counting_begins_can_be_said():
    """Of one file that could be the first or the second."""
    assert [one.missing for one in numbered(["process_1-of-2.json"], first=0)] == [("process_0-of-2.json",)]
    assert [one.missing for one in numbered(["m-1-of-2.bin"])] == [("m-2-of-2.bin",)]


def test_a_count_that_is_no_count():
    """A number that no set of files has costs nothing."""
    assert numbered([f"a-1-of-{MOST + 1}", "a-1-of-0"]) == []
