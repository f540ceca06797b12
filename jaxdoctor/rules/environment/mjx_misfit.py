"""JD121."""

from __future__ import annotations

from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import since
from jaxdoctor.rules.rule import Hits, rule

FREE_SINCE = "3.17"
"""From here on the newest mujoco-mjx takes any MuJoCo; before, take the one of MuJoCo's own number."""


@rule("JD121", Severity.ERROR)
def mjx_misfit(software: Software) -> Hits:
    """MJX cannot be imported, or given a model, beside the installed MuJoCo.

    ## What it saw

    A process that imports `mujoco.mjx` and hands it a model of one hinge raised, while `mujoco` alone can
    be imported.

    ## Why it matters

    MJX copies names and fields out of MuJoCo, and MuJoCo renames them between releases. mujoco-mjx names
    only the oldest MuJoCo that it takes, so that pip puts MuJoCo 4.0 beside an MJX of 3.5 and reports
    success. Everything in MJX then fails when it is imported.

    ## What to do

    Install the pair that belongs together, as the finding says: up to MuJoCo 3.16 the MJX of the same
    number, later the newest.

    ## Example

    ```text
    JD121 error mjx-misfit: mujoco-mjx 3.5.0 does not work with mujoco 4.0.0: AttributeError: type object
      'mujoco._enums.mjtEnableBit' has no attribute 'mjENBL_MULTICCD'
    ```

    ## Sources

    - https://pypi.org/project/mujoco-mjx/
    - https://mujoco.readthedocs.io/en/stable/changelog.html
    """
    said = software.unimportable.get("mujoco.mjx")
    if said is None:
        return
    mujoco, mjx = software.versions.get("mujoco"), software.versions.get("mujoco-mjx")
    names_mujoco = "mujoco" in said or "'mj" in said
    wanted = "mujoco-mjx" if since(mujoco, FREE_SINCE) else f"mujoco-mjx=={mujoco}"
    repair = f"pip install --upgrade {wanted}"
    yield Hit(
        location=Location(path="mujoco-mjx"),
        message=f"mujoco-mjx {mjx} does not work with mujoco {mujoco}: {said}",
        evidence={"mujoco": mujoco, "mujoco-mjx": mjx, "said": said},
        fix=repair if names_mujoco and mjx != mujoco else "mend what the import names",
    )
