"""NVIDIA Hopper: H100, H200 and GH200."""

from jaxdoctor.machine.card import Card, Family

MEMORY = {"h100": 80, "h200": 141, "h20": 96, "h800": 80, "gh200": 144}
"""In GiB."""

FAMILY = Family(
    name="Hopper",
    source="https://docs.nvidia.com/cuda/hopper-tuning-guide/",
    cards=tuple(
        Card(
            name=name,
            compute_capability="9.0",
            market="datacenter",
            # The versions made for export keep TF32 and lose most of their float64 rate.
            fp64_ratio=1 / 64 if name in {"h20", "h800"} else 1 / 2,
            memory_gib=memory,
        )
        for name, memory in MEMORY.items()
    ),
)
