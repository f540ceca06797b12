"""JD306."""

from __future__ import annotations

from pathlib import PurePath

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

MODEL_FORMATS = frozenset({"huggingface", "safetensors", "torch"})
"""Formats of whole models. What each rank saves of itself may be empty, and has a format of its own."""

PARTITION = "zero_pp_rank_"
WEIGHTS = frozenset({"weight", "bias", "kernel"})
FEWEST = 2
"""One empty array may be a placeholder."""


@rule("JD306", Severity.ERROR)
def empty_weights(checkpoint: Checkpoint) -> Hits:
    """Weights of a model were saved with the shape [0].

    ## What it saw

    Two or more weights of shape [0] in a file of a whole model. Arrays with one empty axis among
    others, such as an adapter of rank 0, and the files that DeepSpeed writes for each rank are left out.

    ## Why it matters

    ZeRO-3 leaves a placeholder of shape [0] on each rank for a parameter that is partitioned. A
    `state_dict` saved without gathering holds the placeholders, and the weights are nowhere in the file.

    ## What to do

    Save again with `stage3_gather_16bit_weights_on_model_save`, or put the weights together from the
    ranks' own files with `zero_to_fp32.py`.

    ## Example

    ```text
    JD306 error empty-weights: 16 of 21 weights have the shape [0], the first is model/lm_head.weight
    ```

    ## Sources

    - https://github.com/deepspeedai/DeepSpeed/issues/7501
    - https://github.com/huggingface/transformers/issues/20082
    """
    if checkpoint.format not in MODEL_FORMATS or PurePath(checkpoint.path).name.startswith(PARTITION):
        return
    weights = [leaf for leaf in checkpoint.with_role(Role.PARAMETER) if _is_weight(leaf)]
    empty = [leaf for leaf in weights if leaf.shape == (0,)]
    if len(empty) >= FEWEST:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=empty[0].path, step=checkpoint.step),
            message=(
                f"{len(empty)} of {counted(len(weights), 'weight')} have the shape [0], "
                f"the first is {empty[0].path}"
            ),
            evidence={"empty": len(empty), "of": len(weights), "leaves": [leaf.path for leaf in empty[:8]]},
            fix="gather before saving (stage3_gather_16bit_weights_on_model_save), or run zero_to_fp32.py",
        )


def _is_weight(leaf: Leaf) -> bool:
    return bool(leaf.names) and leaf.names[-1] in WEIGHTS
