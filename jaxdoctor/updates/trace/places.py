"""Where in somebody's source a dtype or a weak type changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Change, LeafSignature, SourceLine
from jaxdoctor.programs.authors import shorten
from jaxdoctor.programs.graph import Graph, Op, Value, site_of

MOST_SITES = 3
"""Of one leaf. The first is the likeliest; a long list helps nobody."""

MOST_PROMOTIONS = 20

PACKAGES = "site-packages/"

HALF = ("bfloat16", "float16")

SHAPING = {"broadcast_in_dim", "reshape", "squeeze", "copy", "transpose", "expand_dims"}


PRODUCTS = {"dot_general", "conv_general_dilated", "custom_linear_solve", "cumsum", "scan", "while"}
"""What these give is another value than what went in, also where it has the same shape."""


def of_drift(
    graph: Graph, output: Value, leaf: LeafSignature, own: int | None = None
) -> tuple[SourceLine, ...]:
    """The places where what becomes this leaf takes on its new dtype or weak type, likeliest first.

    Args:
        graph: the program.
        output: what becomes the leaf.
        leaf: before and after.
        own: the position of the leaf among the inputs of the program.
    """
    before = f"{'~' * leaf.weak_in}{leaf.dtype_in}"
    if leaf.change is Change.WEAKENS:
        return _last_line(output, before)
    last = _line(output.made) if output.made is not None else None
    found = [(op, value) for op, value in _boundaries(output, weak=leaf.dtype_in == leaf.dtype_out)]
    sites = [_boundary_site(graph, op, value, own) for op, value in found]
    if not sites and output.argument is not None:
        return (SourceLine(file=None, primitive="argument", dtype_from=before, dtype_to=output.type_name),)
    scaling = {(site.file, site.line) for site in sites if site.scales}
    sites = [replace(site, scales=(site.file, site.line) in scaling) for site in sites]
    matching = [site for site in sites if site.dtype_from == before] or sites
    likeliest = _distinct(sorted(matching, key=_suspicion))[:MOST_SITES]
    return tuple(replace(site, direct=(site.file, site.line) == last) for site in likeliest)


def _last_line(output: Value, before: str) -> tuple[SourceLine, ...]:
    """The line that returns the leaf, as near to the end as any is known."""
    value = output
    while value.made is not None and not value.made.frames and value.made.inputs:
        value = value.made.inputs[-1]
    if value.made is None or not value.made.frames:
        return ()
    return (users_line(value.made, before, output.type_name),)


def _line(op: Op) -> tuple[str | None, int | None]:
    site = users_line(op, "", "")
    return site.file, site.line


def users_line(op: Op, dtype_from: str, dtype_to: str, partner: str | None = None) -> SourceLine:
    """The place of an operation: the user's own line, with that of the package inside it."""
    own = next((index for index, frame in enumerate(op.frames) if PACKAGES not in frame.file_name), 0)
    site = site_of(replace(op, frames=op.frames[own:]), dtype_from, dtype_to, partner)
    if not own:
        return site
    inner = op.frames[0]
    return replace(site, package=f"{shorten(inner.file_name)}:{inner.line_num}")


def _suspicion(site: SourceLine) -> tuple[bool, bool, bool]:
    scalar = site.partner is not None and site.partner.endswith("[]")
    return (not (site.implicit and scalar), not site.implicit, site.file is None)


def _boundaries(output: Value, *, weak: bool) -> Iterator[tuple[Op, Value]]:
    """Operations whose output has the type of `output` while no input has, nearest to it first."""

    def same(value: Value) -> bool:
        return value.dtype == output.dtype and (not weak or value.weak == output.weak)

    seen, waiting = {id(output)}, [output]
    while waiting:
        value = waiting.pop(0)
        sources = [*(value.made.inputs if value.made else ()), *value.feedback]
        alike = [source for source in sources if same(source)]
        if value.made is not None and not alike:
            yield value.made, value
        if value.made is not None and value.made.primitive == "select_n":
            alike = [source for source in alike if source is not value.made.inputs[0]]
        for source in alike:
            if id(source) not in seen:
                seen.add(id(source))
                waiting.append(source)


def _boundary_site(graph: Graph, op: Op, value: Value, own: int | None) -> SourceLine:
    widest = max(op.inputs, key=_width, default=None)
    origin = widest.type_name if widest is not None else value.type_name
    site = users_line(op, origin, value.type_name, _partner(graph, op))
    return replace(site, scales=_scales(graph, op, own), number=_number(graph, op))


def _number(graph: Graph, op: Op) -> float | None:
    """The number that an implicit conversion was made for."""
    other = _other_operand(graph, op) if op.implicit else None
    try:
        return None if other is None or other.literal is None else float(other.literal)
    except (TypeError, ValueError):
        return None


def _scales(graph: Graph, op: Op, own: int | None) -> bool:
    """Whether what was converted is the leaf itself, multiplied by what it was converted for."""
    if own is None or not op.implicit or _root(op.inputs[0]).argument != own:
        return False
    return any(user.primitive == "mul" for user in graph.users.get(id(op.outputs[0]), ()))


def _width(value: Value) -> int:
    return dtype_named(value.dtype).bits


def _partner(graph: Graph, op: Op) -> str | None:
    """The other operand of the operation that an implicit conversion was made for."""
    if not op.implicit:
        return None
    other = _other_operand(graph, op)
    return None if other is None else f"{other.type_name}[{','.join(str(size) for size in other.shape)}]"


def _other_operand(graph: Graph, op: Op) -> Value | None:
    (converted,) = op.outputs
    for user in graph.users.get(id(converted), ()):
        for other in user.inputs:
            if other is not converted and other.dtype == converted.dtype:
                return _root(other)
    return None


def _is_made_there(graph: Graph, op: Op) -> bool:
    """Whether the operand, too, is of JAX's own making and was not handed to its function."""
    other = _other_operand(graph, op)
    if other is None or other.argument is not None:
        return False
    return other.made is None or other.made.inside_jax


def _root(value: Value) -> Value:
    while value.made is not None and value.made.primitive in SHAPING:
        value = value.made.inputs[0]
    return value


def promotions(graph: Graph, known: Iterable[SourceLine]) -> tuple[SourceLine, ...]:
    """Where a wider scalar makes a half-precision array wide, though JAX was not asked to."""
    stated = {(site.file, site.line) for site in known}
    found = []
    for op in graph.ops:
        if not op.implicit or op.inputs[0].dtype not in HALF or not op.outputs[0].shape:
            continue
        if op.inside_jax and _is_made_there(graph, op):
            # A mean of halves, which JAX itself computes in float32: nobody could cast there.
            continue
        partner = _partner(graph, op)
        if partner is None or not partner.endswith("[]") or partner.startswith("~"):
            continue
        if not _is_narrowed_again(graph, op):
            found.append(users_line(op, op.inputs[0].dtype, op.outputs[0].dtype, partner))
    return tuple(site for site in _distinct(found) if (site.file, site.line) not in stated)[:MOST_PROMOTIONS]


def _is_narrowed_again(graph: Graph, op: Op) -> bool:
    """Whether what was computed in the wider dtype is cast back, as by somebody who meant it.

    The same value is followed element by element, to all that becomes of it, through additions and roots and
    whatever else gives an array of the same shape; a product of matrices or a sum over it is another value.
    Where it meets an array that came in wide, as an average kept in float32 does, that one asked for it.
    """
    narrow, shape = op.inputs[0].dtype, op.outputs[0].shape
    returned = {id(value) for value in graph.outputs}
    seen, waiting = {id(op.outputs[0])}, [op.outputs[0]]
    while waiting:
        value = waiting.pop()
        users = graph.users.get(id(value), ())
        if id(value) in returned or not users:
            return False
        for user in users:
            if user.primitive in PRODUCTS:
                return False
            if any(_came_in_wide(other, value) for other in user.inputs if id(other) not in seen):
                continue
            for output in user.outputs:
                if output.dtype in {narrow, "bool"} or id(output) in seen:
                    continue
                if output.shape != shape and user.primitive not in SHAPING:
                    return False
                seen.add(id(output))
                waiting.append(output)
    return True


def _came_in_wide(other: Value, like: Value) -> bool:
    """Whether it was made of an input of the program that has that dtype and shape, element by element."""
    seen, waiting = {id(other)}, [other]
    while waiting:
        value = waiting.pop()
        if (value.dtype, value.shape) != (like.dtype, like.shape):
            continue
        if value.argument is not None:
            return True
        for before in value.made.inputs if value.made else ():
            if id(before) not in seen:
                seen.add(id(before))
                waiting.append(before)
    return False


def wide(graph: Graph) -> tuple[SourceLine, ...]:
    """Where a strong 64-bit array comes out of an operation that none went into. Scalars cost nothing."""
    found = []
    for op in graph.ops:
        if not any(_is_wide(value) for value in op.outputs) or any(_is_wide(value) for value in op.inputs):
            continue
        if _is_narrowed_again(graph, op):
            continue
        origin = max(op.inputs, key=_width, default=op.outputs[0])
        found.append(users_line(op, origin.type_name, "float64", _partner(graph, op)))
    return tuple(_distinct(found))[:MOST_PROMOTIONS]


def _is_wide(value: Value) -> bool:
    return value.dtype in {"float64", "complex128"} and not value.weak and value.shape != ()


def callbacks(graph: Graph) -> tuple[SourceLine, ...]:
    """Operations that ask the host."""
    found = [
        users_line(op, "", "")
        for op in graph.ops
        if "callback" in op.primitive or op.primitive == "debug_print"
    ]
    return tuple(_distinct(found))


def _distinct(sites: Iterable[SourceLine]) -> list[SourceLine]:
    first: dict[Any, SourceLine] = {}
    for site in sites:
        first.setdefault((site.file, site.line or site.primitive, site.dtype_from, site.dtype_to), site)
    return list(first.values())
