"""What the names in a leaf's path say about the array: averages, adapters, tables of embeddings, kernels."""

from __future__ import annotations

import functools
import re

from jaxdoctor.facts.leaf import Leaf, Role, words

WORDS = re.compile(r"[_\-.]+")

AVERAGES = frozenset({"ema", "polyak", "swa", "shadow", "averaged", "average", "avg"})
"""Words in the names of trees that hold a running average of the parameters."""

EMBEDDINGS = frozenset(
    {"embed", "embedding", "embeddings", "embedder", "emb", "wte", "wpe", "vocab", "codebook", "lookup"}
)
"""Words in the names of tables of which a run may never touch some rows."""

ADAPTERS = frozenset({"lora", "adapter", "adapters", "dora", "ia3"})
SECOND_FACTORS = frozenset({"lora_b", "lora_up", "lora_embedding_b"})
"""Names of the factor of an adapter that starts at zero, so that the adapter begins without effect."""

STARTS_AT_ZERO = frozenset({"zero", "controlnet", "adaln", "mask", "masks", "buffer", "queue", "cache"})
"""Words in the names of arrays that are zero by design."""

BIASES = frozenset({"bias", "biases", "beta", "b"})


def name_words(leaf: Leaf) -> frozenset[str]:
    """The single words of all names in the path: {"ema", "params", "hidden", "0", "kernel"}."""
    return _single_words(leaf.path)


@functools.lru_cache(maxsize=1 << 14)
def _single_words(path: str) -> frozenset[str]:
    return frozenset(word for name in words(path) for word in WORDS.split(name) if word)


def is_average(leaf: Leaf) -> bool:
    """Whether it lies in a running average of parameters."""
    return leaf.role in {Role.STATISTIC, Role.PARAMETER} and bool(name_words(leaf) & AVERAGES)


def is_second_factor(leaf: Leaf) -> bool:
    """Whether it is the factor of a low-rank adapter that starts at zero."""
    return bool(SECOND_FACTORS & set(leaf.names))


def is_kernel(leaf: Leaf) -> bool:
    """Whether it is a trained matrix or filter: no bias, no embedding, no adapter, no mask."""
    if leaf.role is not Role.PARAMETER or len(leaf.shape) < 2 or not leaf.size or leaf.masks:  # noqa: PLR2004 (a matrix)
        return False
    if leaf.names and leaf.names[-1] in BIASES:
        return False
    return not name_words(leaf) & (EMBEDDINGS | ADAPTERS | STARTS_AT_ZERO)


def kind(leaf: Leaf) -> str:
    """The path without its numbers: what the same array of every layer has in common."""
    return re.sub(r"\d+", "#", leaf.path)
