"""Writes docs/optax-compatibility.md: every transform of the installed optax, by dtype and by x64.

python benchmarks/optax_compatibility.py [FILE]
"""

import platform
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from jaxdoctor.facts.signature import Signature
from jaxdoctor.reports.update_tables import pivot
from jaxdoctor.updates.check import SWEEP, Wish, check_update

PAGE = Path(__file__).parents[1] / "docs" / "optax-compatibility.md"

INTRODUCTION = """\
# Optax, transform by transform

Measured with optax {optax}, jax {jax}, Python {python}, by `python benchmarks/optax_compatibility.py`;
`jaxdoctor check-update optax --x64 both` prints the same table for the optax that is installed.

Each transform was built with typical arguments, and its update traced once for each dtype of the parameters
`w[8,4]` and `b[4]`, without x64 and with it; gradients have the parameters' dtype. Nothing was computed and
nothing compiled. What a cell says:

- `stable`: the state comes out as it went in, and the updates have the parameters' dtypes.
- `weak type drifts, 2 compiles`: the first update takes JAX's weak type off a leaf of the state, so that the
  jitted step is compiled a second time. `jaxdoctor.remedies.stable_dtypes` keeps it.
- `dtype drifts`: a leaf of the state changes its dtype, and `lax.scan` refuses the update. The same remedy
  keeps it.
- `updates widen`: the returned updates are wider than the parameters. `optax.apply_updates` casts them back.
- `64 bit appears`: under x64, the state of 32-bit or 16-bit parameters has 64-bit leaves.
- `tree changes`: a leaf of the state appears in the first update.
- `refuses`: the transform raises with these arguments, or needs one that cannot be guessed; see the end.

{summary}

Other versions: {others}.

"""


def page(signatures: tuple[Signature, ...]) -> str:
    """The document."""
    headings, rows = pivot(signatures)
    odd = [row for row in rows if set(row[1:]) != {"stable"}]
    stable = [row[0] for row in rows if set(row[1:]) == {"stable"}]
    refused = dict.fromkeys((each.target, each.refused) for each in signatures if each.refused)
    parts = [
        INTRODUCTION.format(
            optax=version("optax"),
            jax=version("jax"),
            python=platform.python_version(),
            summary=summary(signatures),
            others=others(),
        ),
        "## Not stable everywhere\n\n",
        *table(headings, odd),
        f"\n## Stable in every column\n\n{len(stable)} transforms: ",
        ", ".join(f"`{name}`" for name in stable),
        ".\n",
    ]
    if refused:
        parts.append("\n## Could not be built or traced\n\n")
        parts += [f"- `{name}`: {reason}\n" for name, reason in refused]
    return "".join(parts)


def others() -> str:
    """Links to every page there is."""
    pages = sorted(PAGE.parent.glob("optax-compatibility*.md"))
    return ", ".join(f"[{page.stem}]({page.name})" for page in pages)


def summary(signatures: tuple[Signature, ...]) -> str:
    """How many cells say what."""
    counts = Counter(signature.verdict for signature in signatures)
    targets = len({signature.target for signature in signatures})
    stated = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    return f"{targets} transforms, {len(signatures)} cells: {stated}."


def table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of Markdown."""
    lines = [headings, tuple("---" for _ in headings), *((f"`{name}`", *cells) for name, *cells in rows)]
    return [f"| {' | '.join(line)} |\n" for line in lines]


if __name__ == "__main__":
    report = check_update(Wish(target=SWEEP, x64=(False, True), time_limit=600))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    path.write_text(page(report.signatures), encoding="utf-8")
    print(f"{path}: {summary(report.signatures)}")
