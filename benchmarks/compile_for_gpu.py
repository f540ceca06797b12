"""Compiles the probed products for GPUs that are not here, and sets the code beside the table of cards.

It needs no GPU, and JAX's CUDA plugin without the CUDA libraries, in an environment of its own:

    python -m venv cuda
    cuda/bin/pip install jax==0.12.0.1 jax-cuda13-plugin==0.12.0.1 jax-cuda13-pjrt==0.12.0.1
    PYTHONPATH=. cuda/bin/python benchmarks/compile_for_gpu.py

Its table goes beside those of other releases in docs/calibration/compiled.md.

Without a GPU there is no autotuning, so on cards with TF32 every matrix product is Triton's; with one, cuBLAS
may win some. Older jaxlibs want `XLA_FLAGS=--xla_gpu_autotune_level=0` for it, and choose cuBLAS more often.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from jaxdoctor.facts.versions import release

AMPERE = 8
"""The major capability from which on a block gets 1 KiB less than its core has."""

SETTINGS = ("default", "high", "highest")

TF32_PRODUCT = re.compile(r"\b(?:(?:wg)?mma|tcgen05\.mma)\.\S*tf32")
TF32_ROUNDING = re.compile(r"\bcvt\.rna\.tf32")
BF16_PRODUCT = re.compile(r"\b(?:(?:wg)?mma|tcgen05\.mma)\.\S*bf16")

HLO = "*gpu_after_optimizations.txt"

CARD = """
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared_per_core}
  shared_memory_per_block_optin: {shared_per_block}
  threads_per_core_limit: {threads_per_core}
  core_count: {cores}
  fpus_per_core: {fpus}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {l2}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 8 patch: 0 }}
device_description_str: "{name}"
"""
"""What XLA wants to know about a card, as text of its GpuTargetConfigProto."""

FIGURES = {
    # Compute capability, cores, float32 units and threads of a core, KiB of shared memory of a core, GB/s of
    # memory, MiB of L2 cache, GHz, GiB of memory: from NVIDIA's data sheets and tuning guides.
    "t4": (7, 5, 40, 64, 1024, 64, 320, 4, 1.59, 16),
    "a100": (8, 0, 108, 64, 2048, 164, 2039, 40, 1.41, 80),
    "rtx-3090": (8, 6, 82, 128, 1536, 100, 936, 6, 1.7, 24),
    "rtx-4090": (8, 9, 128, 128, 1536, 100, 1008, 72, 2.52, 24),
    "h100": (9, 0, 132, 128, 2048, 228, 3350, 50, 1.98, 80),
    "b200": (10, 0, 148, 128, 2048, 228, 8000, 126, 1.97, 180),
    "rtx-5090": (12, 0, 170, 128, 1536, 100, 1792, 96, 2.41, 32),
}


def description(card: str) -> str:
    """A card as XLA wants it described."""
    major, minor, cores, fpus, threads, shared, bandwidth, l2, clock, memory = FIGURES[card]
    return CARD.format(
        name=card, major=major, minor=minor, cores=cores, fpus=fpus, threads_per_core=threads,
        shared_per_core=shared * 1024, shared_per_block=(shared - (1 if major >= AMPERE else 0)) * 1024,
        bandwidth=bandwidth * 10**9, l2=l2 * 2**20, clock=clock, memory=memory * 2**30,
    )  # fmt: skip


EMITTED = "--xla_dump_emitter_re=.*"
"""jaxlib 0.12 writes a kernel's PTX only where this asks for it; before, XLA ends the process at the flag."""

EMITTED_SINCE = (0, 12)


def arithmetic(code: str, program: str) -> str:
    """What a product's PTX says it computes in; a call of cuBLAS does not say it.

    Raises:
        RuntimeError: XLA wrote no PTX, so that nothing can be said.
    """
    if "__cublas" in program:
        return "cuBLAS"
    if not code:
        raise RuntimeError("XLA dumped no PTX")
    if TF32_PRODUCT.search(code):
        return "tf32-rounded" if TF32_ROUNDING.search(code) else "tf32-truncated"
    return "bf16" if BF16_PRODUCT.search(code) else "f32"


def dumped(folder: Path, pattern: str) -> str:
    """What XLA left there in files of that name."""
    return "".join(file.read_text() for file in folder.rglob(pattern))


def rows(card: str, folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """For every dot: what each setting compiles to, and what the table of cards says."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    from jaxdoctor.machine.card import card_named
    from jaxdoctor.machine.expected import deliveries_of_card
    from jaxdoctor.machine.measuring.product import program
    from jaxdoctor.machine.products import PRODUCTS, Dot
    from jaxdoctor.machine.xla_flags import read_xla_flags

    topology = topologies.get_topology_desc(
        topology_name="", platform="cuda", target_config=description(card), topology="1x1x1"
    )
    there = SingleDeviceSharding(topology.devices[0])
    flags = read_xla_flags(os.environ["XLA_FLAGS"]).values
    table = deliveries_of_card(card_named(card), version("jaxlib"), xla_flags=flags)
    for product in PRODUCTS:
        if not isinstance(product, Dot):
            continue  # cuDNN's kernels are not compiled but called
        shapes = [
            jax.ShapeDtypeStruct(shape, jnp.float32, sharding=there)
            for shape in (product.left, product.right)
        ]
        compiled, expected = [], []
        for setting in SETTINGS:
            shutil.rmtree(folder, ignore_errors=True)
            with jax.default_matmul_precision(setting):
                jax.jit(program(product)).trace(*shapes).lower(lowering_platforms=("cuda",)).compile()
            compiled.append(arithmetic(dumped(folder, "*.ptx"), dumped(folder, HLO)))
            expected += [
                each.arithmetic.value
                for each in table.at(setting)
                if (each.op, each.shape) == (product.op, product.shape)
            ]
        yield product.shape, compiled, expected


def main(cards: Sequence[str] = tuple(FIGURES)) -> None:
    """Prints a table in Markdown."""
    folder = Path(tempfile.mkdtemp(prefix="ptx-"))
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    emitted = EMITTED if release(version("jaxlib")) >= EMITTED_SINCE else ""
    os.environ["XLA_FLAGS"] = " ".join(f"--xla_dump_to={folder} {emitted} {flags}".split())
    print(f"jaxlib {version('jaxlib')}{f', {flags}' if flags else ''}, compiled without a GPU\n")
    print("| card | products | default | high | highest | table: default | high | highest | such as |")
    print("|---" * 9 + "|")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for card in cards:
            alike: dict[tuple[str, ...], list[str]] = {}
            for shape, compiled, expected in rows(card, folder):
                alike.setdefault((*compiled, *expected), []).append(shape)
            for cells, shapes in alike.items():
                print("|", " | ".join([card, str(len(shapes)), *cells, shapes[0]]), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or tuple(FIGURES))
