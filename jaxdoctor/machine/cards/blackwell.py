"""NVIDIA Blackwell: B200, B300, RTX 50, RTX PRO and GB10."""

from jaxdoctor.machine.card import Card, Family

DATACENTER = {
    "b100": ("10.0", 1 / 2, 192),
    "b200": ("10.0", 1 / 2, 180),
    "gb200": ("10.0", 1 / 2, 186),
    "b300": ("10.3", 1 / 64, 288),
    "gb300": ("10.3", 1 / 64, 288),
}
"""Compute capability, rate of float64 to float32, memory in GiB."""

GEFORCE = {
    "rtx-5050": 8,
    "rtx-5060": 8,
    "rtx-5060-ti": 16,
    "rtx-5070": 12,
    "rtx-5070-ti": 16,
    "rtx-5080": 16,
    "rtx-5090": 32,
}

WORKSTATION = {"rtx-pro-4000": 24, "rtx-pro-4500": 32, "rtx-pro-5000": 48, "rtx-pro-6000": 96}

FAMILY = Family(
    name="Blackwell",
    source="https://docs.nvidia.com/cuda/blackwell-tuning-guide/",
    cards=(
        *(
            Card(
                name=name,
                compute_capability=capability,
                market="datacenter",
                fp64_ratio=ratio,
                memory_gib=memory,
            )
            for name, (capability, ratio, memory) in DATACENTER.items()
        ),
        *(
            Card(name=name, compute_capability="12.0", market=market, fp64_ratio=1 / 64, memory_gib=memory)
            for market, table in (("GeForce", GEFORCE), ("workstation", WORKSTATION))
            for name, memory in table.items()
        ),
        Card(
            name="gb10",
            compute_capability="12.1",
            market="desktop",
            fp64_ratio=1 / 64,
            memory_gib=128,
            device_kinds=("gb10", "dgx spark"),
        ),
    ),
)
