"""Signatures to judge, built in a line."""

from jaxdoctor.facts.signature import Fate, LeafSignature, Signature, SourceLine, UpdateCounter

SITE = SourceLine(
    file="train.py",
    line=4,
    source="return p - LR * g",
    primitive="convert_element_type",
    dtype_from="bfloat16",
    dtype_to="float32",
    implicit=True,
    partner="float32[]",
    through=("train.py:8 in update",),
)


def leaf(path, before, after, **more):
    """A leaf from "~int32" to "int32"; None stands for absent."""
    return LeafSignature(
        path=path,
        dtype_in=before and before.lstrip("~"),
        dtype_out=after and after.lstrip("~"),
        shape_in=more.pop("shape_in", () if before else None),
        shape_out=more.pop("shape_out", () if after else None),
        weak_in=bool(before) and before.startswith("~"),
        weak_out=bool(after) and after.startswith("~"),
        **more,
    )


def signature(*leaves, rounds=0, **more):
    return Signature(target="train.py:make", leaves=leaves, rounds=rounds, **more)


def counter(**more):
    known = {"leaf": "env_steps", "dtype": "int32", "fate": Fate.WRAPS, "increment": 4096, "start": 0}
    known |= {"limit": 2**31 - 1, "calls": 524_288}
    return UpdateCounter(**(known | more))


def hits(rule, fact):
    return list(rule.judge(fact))
