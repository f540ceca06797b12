"""JD105."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import removal
from jaxdoctor.rules.rule import Hits, rule


@rule("JD105", Severity.ERROR, prescribes=removal)
def fatal_xla_flag(environment: Environment) -> Hits:
    """XLA does not know a flag of XLA_FLAGS, or cannot read it, and ends the process.

    ## What it saw

    A process that only starts JAX died with this flag and lived without it.

    ## Why it matters

    XLA ends the process when its backend starts, on a CPU too, with exit code 1 and no Python
    exception: a `try` does not catch it, and a job's log may end with one line among many.
    `--xla_gpu_enable_tf32` and `--xla_gpu_disable_tf32`, which web pages give, exist in no version.

    A flag may also be of another version: flags come and go with every jaxlib. And one that takes a
    number is unknown without it: `--xla_gpu_autotune_level 4` lacks its `=`.

    ## What to do

    Take the flag out. TF32 is switched off with `JAX_DEFAULT_MATMUL_PRECISION=highest`, not with a
    flag. Where XLA_FLAGS as a whole is named, it does not begin with a dash, and XLA takes it for a
    file: write `XLA_FLAGS="--flag=value"`, without further quotes inside.

    ## Example

    ```text
    JD105 error fatal-xla-flag: --xla_gpu_enable_tf32=true is unknown to this XLA, which ends the process
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/parse_flags_from_env.cc
    - https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc
    """
    for flag in environment.unknown_xla_flags:
        name, equals, _ = flag.partition("=")
        fix = "remove it; JAX_DEFAULT_MATMUL_PRECISION=highest avoids TF32" if "tf32" in name else "remove it"
        if not equals and environment.unread_xla_flags:
            fix = f"write --{name}={environment.unread_xla_flags.split()[0]}, without a space"
        yield Hit(
            location=Location(path="XLA_FLAGS"),
            message=f"--{flag} is unknown to this XLA, which ends the process",
            evidence={"flag": flag},
            fix=fix,
        )
    for flag, reason in environment.refused_xla_flags.items():
        named = flag if flag == "XLA_FLAGS" else f"--{flag}"
        yield Hit(
            location=Location(path="XLA_FLAGS"),
            message=f"{named} ends the process: {reason}",
            evidence={"flag": flag, "reason": reason},
            fix="correct the value, or remove it",
        )
