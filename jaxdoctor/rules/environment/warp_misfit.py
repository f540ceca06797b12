"""JD122."""

from __future__ import annotations

from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD122", Severity.NOTE)
def warp_misfit(software: Software) -> Hits:
    """The installed warp-lang is not the one that the installed MJX was made with.

    ## What it saw

    mujoco-mjx names one version of warp-lang in its extra `warp`, and another is installed. It is an error
    where MJX can be imported without warp-lang and not with it.

    ## Why it matters

    MJX imports Warp when it is there, also to compute in JAX. With warp-lang 1.11 beside mujoco-mjx 3.17
    `from mujoco import mjx` raises. With 1.19 it works, as far as one step on a CPU shows; nobody tests the
    two together. Pip brings the pair about: playground asks for warp-lang from 1.11 on, and gets the newest.

    ## What to do

    Install the version that is named. Who computes in JAX alone can remove warp-lang.

    ## Example

    ```text
    JD122 note warp-misfit: mujoco-mjx 3.17.0 was made with warp-lang 1.18.0, and 1.19.0 is installed
    ```

    ## Sources

    - https://pypi.org/project/mujoco-mjx/
    - https://github.com/google-deepmind/mujoco_playground/blob/main/pyproject.toml
    """
    installed, pinned = software.versions.get("warp-lang"), software.warp_pinned
    said = software.unimportable.get("warp")
    if said is None and (installed is None or pinned is None or installed == pinned):
        return
    mjx = software.versions.get("mujoco-mjx")
    made = f"mujoco-mjx {mjx} was made with warp-lang {pinned}, and {installed} is installed"
    fails = f"mujoco-mjx {mjx} cannot be imported beside warp-lang {installed}: {said}"
    yield Hit(
        location=Location(path="warp-lang"),
        message=made if said is None else fails,
        evidence={"mujoco-mjx": mjx, "warp-lang": installed, "pinned": pinned, "said": said},
        fix=f"pip install warp-lang=={pinned}" if pinned else "pip uninstall warp-lang",
        severity=None if said is None else Severity.ERROR,
    )
