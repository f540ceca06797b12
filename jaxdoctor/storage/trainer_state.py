"""What a Hugging Face trainer says of itself: its state, its arguments, its model's config."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jaxdoctor.storage.pickles.parts import Made, Table

KEPT = (
    "global_step", "max_steps", "save_steps", "logging_steps", "eval_steps", "num_train_epochs", "epoch",
    "best_model_checkpoint", "best_global_step", "best_metric", "train_batch_size", "total_flos",
    "num_input_tokens_seen", "episode",
)  # fmt: skip
ARGUMENTS = (
    "save_total_limit", "save_only_model", "bf16", "fp16", "load_best_model_at_end", "optim", "output_dir",
    "gradient_accumulation_steps", "per_device_train_batch_size",
)  # fmt: skip
FLOATS = frozenset({"float64", "float32", "float16", "bfloat16"})
LONGEST_TEXT = 1000
MOST_METRICS = 1000


def state_metadata(state: Mapping[str, Any]) -> dict[str, Any]:
    """The facts in a `trainer_state.json`, which may hold bare NaN."""
    found = {key: _plain(state[key]) for key in KEPT if key in state}
    history = [entry for entry in _list(state.get("log_history")) if isinstance(entry, dict)]
    steps = [entry["step"] for entry in history if isinstance(entry.get("step"), int)]
    if steps:
        found["logged_steps"] = steps
    nonfinite = _nonfinite(history)
    if nonfinite:
        found["logged_nonfinite"] = nonfinite
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _nonfinite(history: list[dict[str, Any]]) -> dict[str, Any]:
    """Each metric that was logged as NaN or infinite, with the first step of that."""
    found: dict[str, Any] = {}
    for entry in history:
        for name, value in entry.items():
            if isinstance(value, float) and not math.isfinite(value) and len(found) < MOST_METRICS:
                found.setdefault(str(name)[:LONGEST_TEXT], entry.get("step"))
    return found


def _plain(value: Any) -> Any:
    """A value that JSON can hold: NaN and infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return value if isinstance(value, (bool, int, float)) else None


def arguments_metadata(root: Any) -> dict[str, Any]:
    """The facts in a `training_args.bin`, which is a pickled object of a class that is not looked up."""
    if not isinstance(root, Made) or not isinstance(root.state, Table):
        return {}
    values = {key: root.state.get(key) for key in ARGUMENTS}
    return {key: _plain(_enum(value)) for key, value in values.items() if value is not None}


def _enum(value: Any) -> Any:
    """An enum's member is pickled as a call of its class with its value."""
    if isinstance(value, Made) and isinstance(value.arguments, tuple) and len(value.arguments) == 1:
        return value.arguments[0]
    return value


def declared_dtype(config: Mapping[str, Any]) -> str | None:
    """What a `config.json` says of the weights: `torch_dtype` before transformers 5, `dtype` since.

    Of a quantised model, it says what products are computed in: packed weights, their scales and what was
    left alone each have a type of their own.
    """
    if config.get("quantization_config"):
        return None
    for key in ("dtype", "torch_dtype"):
        value = config.get(key)
        if isinstance(value, str) and value.removeprefix("torch.") in FLOATS:
            return value.removeprefix("torch.")
    return None


def is_model_config(config: Any) -> bool:
    """Whether it is transformers' kind of config; others write a file of that name too."""
    return isinstance(config, dict) and ("model_type" in config or "architectures" in config)
