"""Google TPUs: float32 products run as bfloat16 while nothing is configured."""

from jaxdoctor.machine.card import TPU, Card, Family

CHIPS = {
    "tpu-v2": (8, ("tpu v2",)),
    "tpu-v3": (16, ("tpu v3",)),
    "tpu-v4": (32, ("tpu v4",)),
    "tpu-v5e": (16, ("tpu v5 lite", "tpu v5e", "tpu v5litepod")),
    "tpu-v5p": (95, ("tpu v5", "tpu v5p")),
    "tpu-v6e": (32, ("tpu v6 lite", "tpu v6e")),
    "tpu-v7x": (192, ("tpu7x", "tpu v7x", "tpu v7")),
}
"""Memory of a JAX device in GiB, and what JAX calls it."""

FAMILY = Family(
    name="TPU",
    source="https://docs.cloud.google.com/tpu/docs/system-architecture-tpu-vm",
    cards=tuple(
        Card(
            name=name,
            compute_capability=None,
            market=TPU,
            fp64_ratio=None,
            memory_gib=memory,
            device_kinds=kinds,
        )
        for name, (memory, kinds) in CHIPS.items()
    ),
)
