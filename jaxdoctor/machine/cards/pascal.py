"""NVIDIA Pascal: P100 and GTX 10. No tensor cores."""

from jaxdoctor.machine.card import Card, Family

GEFORCE = {"gtx-1050-ti": 4, "gtx-1060": 6, "gtx-1070": 8, "gtx-1070-ti": 8, "gtx-1080": 8, "gtx-1080-ti": 11}
"""Memory in GiB."""

FAMILY = Family(
    name="Pascal",
    source="https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities",
    cards=(
        Card(name="p100", compute_capability="6.0", market="datacenter", fp64_ratio=1 / 2, memory_gib=16),
        *(
            Card(name=name, compute_capability="6.1", market="GeForce", fp64_ratio=1 / 32, memory_gib=memory)
            for name, memory in GEFORCE.items()
        ),
    ),
)
