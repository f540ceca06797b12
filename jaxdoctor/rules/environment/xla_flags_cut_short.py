"""JD116."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD116", Severity.WARNING)
def xla_flags_cut_short(environment: Environment) -> Hits:
    """XLA does not look at a part of XLA_FLAGS.

    ## What it saw

    A word in XLA_FLAGS does not begin with a dash. XLA's parser stops there, without a message.

    ## Why it matters

    Every flag behind that word is ignored, as if it were not set: one that makes runs repeatable, or
    one that keeps Triton from a product. The usual cause is `--flag value` in place of `--flag=value`.

    ## What to do

    Write each flag as `--flag=value`, with quotes only around a value: `--xla_dump_to="my folder"`.

    ## Example

    ```text
    JD116 warning xla-flags-cut-short: XLA stops reading XLA_FLAGS at '4' and ignores
      --xla_gpu_deterministic_ops=true
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/parse_flags_from_env.cc
    """
    if not environment.unread_xla_flags:
        return
    word, *behind = environment.unread_xla_flags.split()
    ignored = [other for other in behind if other.startswith("-")]
    yield Hit(
        location=Location(path="XLA_FLAGS"),
        message=(
            f"XLA stops reading XLA_FLAGS at {word!r}"
            + (f" and ignores {', '.join(ignored)}" if ignored else "")
        ),
        evidence={"unread": environment.unread_xla_flags},
        fix="write each flag as --flag=value",
    )
