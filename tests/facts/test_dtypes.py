"""What a dtype can hold."""

from jaxdoctor.facts.dtypes import dtype_named


def test_an_integer_type_wraps_as_hardware_does():
    assert dtype_named("int32").wrapped(2_667_577_344) == -1_627_389_952
    assert dtype_named("uint32").wrapped(2**32 + 5) == 5
