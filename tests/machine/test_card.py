"""Cards: every one by its usual names, and what their data says about each other."""

import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.machine.card import ANY_TF32, TPU, card_named, card_of_device_kind, known_cards


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("rtx-4090", "rtx-4090"),
        ("RTX 4090", "rtx-4090"),
        ("rtx_4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla T4", "t4"),
        ("A100", "a100"),
        ("tpu-v5e", "tpu-v5e"),
    ],
)
def test_a_card_is_found_by_what_people_call_it(written, name):
    assert card_named(written).name == name


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"),
        ("NVIDIA GeForce RTX 4070 Ti", "rtx-4070-ti"),
        ("NVIDIA GeForce RTX 4070", "rtx-4070"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40S", "l40s"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("Quadro RTX 6000", "quadro-rtx-6000"),
        ("NVIDIA RTX A6000", "rtx-a6000"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("NVIDIA H200", "h200"),
        ("Orin (nvgpu)", "jetson-orin"),
        ("TPU v5 lite", "tpu-v5e"),
        ("TPU v5", "tpu-v5p"),
        ("TPU v6 lite", "tpu-v6e"),
        ("cpu", None),
        ("AMD Instinct MI300X", None),
        ("NVIDIA H2000X", None),
    ],
)
def test_a_device_kind_stands_for_the_card_that_it_names_longest(kind, name):
    found = card_of_device_kind(kind)

    assert (found and found.name) == name


def test_an_unknown_card_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="no card named 'rtx-4900'") as caught:
        card_named("rtx-4900")

    assert "'rtx-4090'" in caught.value.hint


def test_names_are_unique_and_find_their_own_card():
    cards = known_cards()

    assert len({card.name for card in cards}) == len(cards)
    for card in cards:
        assert card_named(card.name) is card
        for words in card.device_kinds or (card.name.replace("-", " "),):
            assert card_of_device_kind(words) is card


def test_tf32_begins_with_compute_capability_8():
    """T4, V100, RTX 20 and P100 have none, although three of them have tensor cores."""
    tf32 = {card.name for card in known_cards() if card.tf32}

    assert {"a100", "rtx-3090", "rtx-4090", "h100", "b200", "rtx-5090", "gb10"} <= tf32
    assert not tf32 & {"t4", "v100", "rtx-2080-ti", "p100", "gtx-1080-ti", "tpu-v5e"}
    assert ANY_TF32.tf32


def test_default_bits_follow_from_the_matrix_unit():
    assert (card_named("rtx-4090").default_bits, card_named("t4").default_bits) == (10, 23)
    assert {card.default_bits for card in known_cards() if card.market == TPU} == {7}
