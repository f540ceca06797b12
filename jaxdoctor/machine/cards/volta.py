"""NVIDIA Volta: V100. Its tensor cores multiply float16 only."""

from jaxdoctor.machine.card import Card, Family

FAMILY = Family(
    name="Volta",
    source="https://www.nvidia.com/en-us/data-center/v100/",
    cards=(
        Card(name="v100", compute_capability="7.0", market="datacenter", fp64_ratio=1 / 2, memory_gib=32),
        Card(name="titan-v", compute_capability="7.0", market="workstation", fp64_ratio=1 / 2, memory_gib=12),
    ),
)
