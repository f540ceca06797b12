"""NVIDIA Turing: T4, RTX 20 and Quadro RTX. Its tensor cores multiply float16 and integers only."""

from jaxdoctor.machine.card import Card, Family

GEFORCE = {
    "rtx-2060": 6,
    "rtx-2060-super": 8,
    "rtx-2070": 8,
    "rtx-2070-super": 8,
    "rtx-2080": 8,
    "rtx-2080-super": 8,
    "rtx-2080-ti": 11,
    "gtx-1650": 4,
    "gtx-1660": 6,
    "gtx-1660-super": 6,
    "gtx-1660-ti": 6,
}
"""Memory in GiB."""

WORKSTATION = {
    "titan-rtx": 24,
    "quadro-rtx-4000": 8,
    "quadro-rtx-5000": 16,
    "quadro-rtx-6000": 24,
    "quadro-rtx-8000": 48,
}

FAMILY = Family(
    name="Turing",
    source="https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities",
    cards=(
        Card(name="t4", compute_capability="7.5", market="datacenter", fp64_ratio=1 / 32, memory_gib=16),
        *(
            Card(name=name, compute_capability="7.5", market=market, fp64_ratio=1 / 32, memory_gib=memory)
            for market, table in (("GeForce", GEFORCE), ("workstation", WORKSTATION))
            for name, memory in table.items()
        ),
    ),
)
