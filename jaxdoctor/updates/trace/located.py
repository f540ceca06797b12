"""The leaves of a state with what becomes of them, each change with its call and its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jaxdoctor.facts.signature import Change, LeafSignature
from jaxdoctor.programs.graph import Graph
from jaxdoctor.updates.trace import places
from jaxdoctor.updates.trace.rounds import Course
from jaxdoctor.updates.trace.tree import changed, compare


def located(course: Course) -> Iterator[LeafSignature]:
    """The leaves as they go in and as they stay, each change with the line and the call in which it comes."""
    rounds = course.rounds
    first, last = rounds[0], rounds[-1]
    settles = course.settled is not None or course.failure is not None
    changes = [set(changed(done.before, done.after)) for done in rounds]
    graphs: dict[int, Graph] = {}
    for leaf in compare(first.before, (last if settles else first).after):
        if leaf.change is None:
            yield leaf
            continue
        index = next((at for at, paths in enumerate(changes) if leaf.path in paths), 0)
        done = rounds[index]
        if index not in graphs:
            graphs[index] = Graph(done.closed)
        own = done.before.array_paths.index(leaf.path) if leaf.path in done.before.array_paths else None
        output = dict(zip(done.after.array_paths, graphs[index].outputs, strict=False)).get(leaf.path)
        if leaf.change in (Change.APPEARS, Change.VANISHES) or output is None:
            yield replace(leaf, call=index + 1)
        else:
            yield replace(leaf, call=index + 1, sites=places.of_drift(graphs[index], output, leaf, own))
