"""NVIDIA Ampere: A100, RTX 30, RTX A and Jetson Orin. The first with TF32."""

from jaxdoctor.machine.card import Card, Family

GEFORCE = {
    "rtx-3050": 8,
    "rtx-3060": 12,
    "rtx-3060-ti": 8,
    "rtx-3070": 8,
    "rtx-3070-ti": 8,
    "rtx-3080": 12,
    "rtx-3080-ti": 12,
    "rtx-3090": 24,
    "rtx-3090-ti": 24,
}
"""Memory in GiB."""

WORKSTATION = {
    "rtx-a2000": 12,
    "rtx-a4000": 16,
    "rtx-a4500": 20,
    "rtx-a5000": 24,
    "rtx-a5500": 24,
    "rtx-a6000": 48,
}

DATACENTER = {"a10": 24, "a10g": 24, "a16": 16, "a2": 16, "a40": 48}

FAMILY = Family(
    name="Ampere",
    source="https://docs.nvidia.com/cuda/ampere-tuning-guide/",
    cards=(
        Card(name="a100", compute_capability="8.0", market="datacenter", fp64_ratio=1 / 2, memory_gib=80),
        Card(name="a30", compute_capability="8.0", market="datacenter", fp64_ratio=1 / 2, memory_gib=24),
        *(
            Card(name=name, compute_capability="8.6", market=market, fp64_ratio=1 / 64, memory_gib=memory)
            for market, table in (
                ("GeForce", GEFORCE),
                ("workstation", WORKSTATION),
                ("datacenter", DATACENTER),
            )
            for name, memory in table.items()
        ),
        Card(
            name="jetson-orin",
            compute_capability="8.7",
            market="embedded",
            fp64_ratio=1 / 64,
            memory_gib=64,
            device_kinds=("orin", "jetson orin"),
        ),
    ),
)
