"""Which widths to replay next, so that few of them show where a rollout begins to fail."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence


def between(finite: Mapping[int, bool], widths: Sequence[int], most: int) -> list[int]:
    """Widths that narrow down where the first one fails: none once its neighbour above is known.

    The narrowest of all comes first, because where it is finite nothing is left to search. Between the first
    that fails, going down, and the last that does not, the widths are spread evenly.

    Args:
        finite: what is known, by mantissa bits.
        widths: those that may be tried, in any order.
        most: so many at once.

    Returns:
        Widths without a known answer, wide ones first.
    """
    narrowest = min(widths, default=None)
    if narrowest is not None and narrowest not in finite:
        return sorted([narrowest, *_spread(finite, widths, most - 1)], reverse=True)
    return _spread(finite, widths, most)


def _spread(finite: Mapping[int, bool], widths: Sequence[int], most: int) -> list[int]:
    """Evenly between the last width that is finite, going down, and the first that is not."""
    descending = sorted(finite, reverse=True)
    failing = next((bits for bits in descending if not finite[bits]), None)
    if failing is None:
        return []
    above = min((bits for bits in descending if bits > failing), default=None)
    if above is None:
        return []
    inside = sorted((bits for bits in widths if failing < bits < above), reverse=True)
    if len(inside) <= most:
        return inside
    # Cut into most + 1 parts of nearly the same length.
    return [inside[(turn + 1) * len(inside) // (most + 1)] for turn in range(most)]


def uneven(values: Sequence[Hashable]) -> list[int]:
    """For each value how often it came before it: 0, 0, 1 for a, b, a."""
    seen: dict[Hashable, int] = {}
    turns = []
    for value in values:
        turns.append(seen.get(value, 0))
        seen[value] = turns[-1] + 1
    return turns
