"""Small checkpoints and series, built in a line each."""

from dataclasses import replace

from jaxdoctor.checkpoint import Checkpoint, Expectations, Leaf, Role, Series, Statistics

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
