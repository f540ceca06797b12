"""NVIDIA Ada Lovelace: RTX 40, L4, L40S and RTX 6000 Ada."""

from jaxdoctor.machine.card import Card, Family

GEFORCE = {
    "rtx-4050": 6,
    "rtx-4060": 8,
    "rtx-4060-ti": 16,
    "rtx-4070": 12,
    "rtx-4070-super": 12,
    "rtx-4070-ti": 12,
    "rtx-4070-ti-super": 16,
    "rtx-4080": 16,
    "rtx-4080-super": 16,
    "rtx-4090": 24,
}
"""Memory in GiB."""

WORKSTATION = {
    "rtx-2000-ada": 16,
    "rtx-4000-ada": 20,
    "rtx-4500-ada": 24,
    "rtx-5000-ada": 32,
    "rtx-6000-ada": 48,
}

DATACENTER = {"l4": 24, "l40": 48, "l40s": 48}

FAMILY = Family(
    name="Ada Lovelace",
    source="https://docs.nvidia.com/cuda/ada-tuning-guide/",
    cards=tuple(
        Card(name=name, compute_capability="8.9", market=market, fp64_ratio=1 / 64, memory_gib=memory)
        for market, table in (
            ("GeForce", GEFORCE),
            ("workstation", WORKSTATION),
            ("datacenter", DATACENTER),
        )
        for name, memory in table.items()
    ),
)
