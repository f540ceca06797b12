"""Where bfloat16 is asked for, beside the card that is to compute it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Location
from jaxdoctor.facts.signature import Signature
from jaxdoctor.facts.text import agreed

NAME = "bfloat16"

SETTING = "JAX_DEFAULT_MATMUL_PRECISION"


class Asked(enum.StrEnum):
    """How bfloat16 is asked for."""

    PRESET = "preset"
    """As an algorithm of every product: XLA takes no other instead."""

    DTYPE = "dtype"
    """As the type of arrays."""


@dataclass(frozen=True, kw_only=True)
class Bfloat16Use:
    """One place that asks for bfloat16, and whether the card multiplies it."""

    card: str
    native: bool
    asked: Asked
    what: str
    """In words: "42 of 50 leaves"."""

    location: Location


def in_settings(environment: Environment) -> Iterator[Bfloat16Use]:
    """What the settings ask for. The level "bfloat16" is none: on a GPU it only means the default."""
    native = environment.accelerator.bf16
    value = environment.settings.get(SETTING, "")
    if native is not None and value.upper().startswith("BF16_"):
        yield Bfloat16Use(
            card=environment.accelerator.name,
            native=native,
            asked=Asked.PRESET,
            what=f"{SETTING}={value}",
            location=Location(path=SETTING),
        )


def in_checkpoint(checkpoint: Checkpoint, card: str, *, native: bool) -> Iterator[Bfloat16Use]:
    """What a checkpoint holds, or its configuration declares."""
    held = [leaf for leaf in checkpoint.leaves if leaf.dtype == NAME]
    declared = [leaf for leaf in checkpoint.leaves if leaf.declared_dtype == NAME and leaf not in held]
    found, how = (held, "bfloat16") if held else (declared, "declared bfloat16")
    if found:
        yield Bfloat16Use(
            card=card,
            native=native,
            asked=Asked.DTYPE,
            what=f"{len(found)} of {len(checkpoint.leaves)} leaves {agreed(len(found))} {how}",
            location=Location(path=checkpoint.path, leaf=found[0].path, step=checkpoint.step),
        )


def in_signature(signature: Signature, card: str, *, native: bool) -> Iterator[Bfloat16Use]:
    """What an update function keeps."""
    found = [leaf for leaf in signature.leaves if NAME in (leaf.dtype_in, leaf.dtype_out)]
    if found:
        yield Bfloat16Use(
            card=card,
            native=native,
            asked=Asked.DTYPE,
            what=f"{len(found)} of {len(signature.leaves)} leaves {agreed(len(found))} bfloat16",
            location=Location(path=signature.target, leaf=found[0].path),
        )
