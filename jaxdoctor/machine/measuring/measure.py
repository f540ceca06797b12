"""Looks at the device and measures what its products get. Runs in a worker process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jax

from jaxdoctor.facts.delivery import X64, Delivery
from jaxdoctor.facts.environment import Accelerator
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.machine.card import card_of_device_kind, has_tf32
from jaxdoctor.machine.installed import installed_versions
from jaxdoctor.machine.measured import Survey
from jaxdoctor.machine.measuring.product import ProductProbe
from jaxdoctor.machine.products import PRODUCTS
from jaxdoctor.workers.progress import Progress


def survey(settings: Sequence[str], seconds: float, *, progress: Progress) -> Survey:
    """The device, and what its products get at each setting.

    Args:
        settings: values of `jax_default_matmul_precision`, or "x64" in a process that has it enabled.
        seconds: no product is begun after so long; it is skipped instead.
        progress: is given each product.
    """
    deadline = time.monotonic() + seconds
    progress.stage("asking jax for its devices")
    accelerator = _accelerator(jax.devices())
    progress.stage("measuring products", len(PRODUCTS))
    products: list[Delivery] = []
    missed: dict[tuple[str, str], list[str]] = {}
    for done, product in enumerate(PRODUCTS if settings else ()):
        probe = ProductProbe.of(product, "float64" if X64 in settings else "float32")
        for setting in settings:
            reason = f"{seconds:.0f} s for measuring products were over"
            if time.monotonic() < deadline:
                try:
                    products.extend(probe.measure(setting))
                    continue
                except (RuntimeError, ValueError) as error:  # XLA's and JAX's: a preset may not exist here
                    reason = str(error).partition("\n")[0]
            missed.setdefault((setting, reason), []).append(product.shape)
        progress.reached(done + 1)
    return Survey(
        accelerator=accelerator,
        matmul_precision=jax.config.values["jax_default_matmul_precision"],
        x64=jax.config.values["jax_enable_x64"],
        options=tuple(sorted(jax.config.values)),
        products=tuple(products),
        versions=dict(installed_versions()),
        skipped=tuple(_skipped(setting, shapes, reason) for (setting, reason), shapes in missed.items()),
    )


def _skipped(setting: str, shapes: Sequence[str], reason: str) -> Skipped:
    products = shapes[0] if len(shapes) == 1 else f"{len(shapes)} products"
    return Skipped(subject=f"{products} at {setting}", reason=reason)


def _accelerator(devices: Sequence[Any]) -> Accelerator:
    device = devices[0]
    if device.platform == "cpu":
        return Accelerator(name=device.device_kind, platform="cpu", market="CPU", tf32=False)
    card = card_of_device_kind(device.device_kind)
    capability = getattr(device, "compute_capability", None) or (card.compute_capability if card else None)
    return Accelerator(
        name=device.device_kind,
        platform=device.platform,
        card=card.name if card else None,
        compute_capability=capability,
        market=card.market if card else None,
        memory_bytes=(device.memory_stats() or {}).get("bytes_limit"),
        fp64_ratio=card.fp64_ratio if card else None,
        tf32=has_tf32(capability) if capability else False,
        bf16=has_tf32(capability) if capability and capability[0].isdecimal() else None,
        count=len(devices),
    )
