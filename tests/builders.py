"""Small checkpoints and series, built in a line each."""

import json
import os
from dataclasses import replace

from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.series import Expectations, Series
from jaxdoctor.facts.statistics import Statistics

HOUR = 3600.0
START = 1_700_000_000.0


def leaf(path, dtype="float32", shape=(), *, role=None, value=None, seen=None, **fields):
    """A leaf. `seen` holds fields of its statistics; a scalar with a value needs none."""
    made = Leaf(path=path, dtype=dtype, shape=tuple(shape), value=value, **fields)
    if seen is not None:
        seen = {"size": made.size, "seen": made.size, "sampled": made.size} | seen
        made = replace(made, statistics=Statistics(**seen))
    return made if role is None else replace(made, role=Role(role))


def checkpoint(*leaves, step=None, path=None, layout="orbax", **fields):
    """A checkpoint, saved an hour after the one a thousand steps before."""
    path = path or (f"run/{step}" if step is not None else "run/only")
    fields.setdefault("named_step", step)
    if step is not None:
        fields.setdefault("saved_at", START + step * HOUR / 1000)
    if layout in READERS.names():
        fields.setdefault("written_by_jax", READERS.load(layout).restored_by_jax)
    return Checkpoint(path=path, format=layout, leaves=tuple(leaves), step=step, **fields)


def series(*checkpoints, **expectations):
    """Those checkpoints as one run."""
    return Series(path="run", checkpoints=checkpoints, expectations=Expectations(**expectations))


def counts(path, values, dtype="int32", *, every=1000, layout="orbax"):
    """A series in which one counter takes those values."""
    return series(
        *(
            checkpoint(
                leaf(path, dtype, role="counter", value=value), step=(index + 1) * every, layout=layout
            )
            for index, value in enumerate(values)
        )
    )


def judged(rule, fact):
    """What a rule finds in a fact."""
    return list(rule.judge(fact))


def trainer_run(folder, steps, *, save_steps=500, max_steps=502, dtype="float32", declared=None, **state):
    """A run of TRL or of a Hugging Face Trainer: a `checkpoint-N` for each step, an hour apart."""
    for index, step in enumerate(steps):
        saved = folder / f"checkpoint-{step}"
        saved.mkdir(parents=True)
        trainer_save(
            saved, step, save_steps=save_steps, max_steps=max_steps, dtype=dtype, declared=declared, **state
        )
        os.utime(saved, (START + index * HOUR,) * 2)
    return folder


def trainer_save(saved, step, *, dtype="float32", declared=None, **state):
    """One `checkpoint-N`, of a model of twelve weights."""
    import numpy as np
    from safetensors.numpy import save_file

    history = [{"step": logged, "loss": 1.0 / logged} for logged in range(1, step + 1, max(1, step // 4))]
    known = {"global_step": step, "epoch": step / 1000 + 0.001, "logging_steps": 500, "log_history": history}
    save_file(
        {"layer.weight": np.linspace(-1, 1 + step / 1000, 12).astype(dtype).reshape(3, 4)},
        saved / "model.safetensors",
    )
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "dtype": declared or dtype}
    (saved / "config.json").write_text(json.dumps(config))
    (saved / "trainer_state.json").write_text(json.dumps(known | state))


def scanned(*paths, **options):
    """The findings of a scan of real files."""
    from jaxdoctor.checkpoints.options import Options
    from jaxdoctor.checkpoints.scan import scan

    return scan(list(paths), Options(**options)).findings
