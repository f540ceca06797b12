"""JD120."""

from __future__ import annotations

from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import counted
from jaxdoctor.facts.versions import since
from jaxdoctor.rules.rule import Hits, rule

SPLIT_SINCE = "4"
"""From here on mujoco is three distributions that write into one folder."""

PARTS = ("mujoco-core", "mujoco-studio")


@rule("JD120", Severity.ERROR)
def broken_mujoco(software: Software) -> Hits:
    """MuJoCo is installed and cannot be imported.

    ## What it saw

    A process that only imports `mujoco` raised. Where files are gone that the installer wrote, or where
    the versions of mujoco, mujoco-core and mujoco-studio differ, the message says so.

    ## Why it matters

    Nothing that needs MuJoCo or MJX can run. From 4.0 on MuJoCo is three packages in one folder. Whoever
    upgrades from 3.x has pip write the new files first and then remove the old package's, which have the
    same names. Pip reports success.

    ## What to do

    Install all three again in one version, as the finding says. Without versions the command would take
    the newest of each, and these may differ again.

    ## Example

    ```text
    JD120 error broken-mujoco: mujoco 4.0.0 cannot be imported: 197 files of mujoco-core are gone
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/changelog.html
    - https://pypi.org/project/mujoco-core/
    """
    said = software.unimportable.get("mujoco")
    if said is None:
        return
    mujoco, missing = software.versions.get("mujoco"), dict(software.missing_files)
    parts = {name: version for name in PARTS if (version := software.versions.get(name))}
    cause = _cause(missing, mujoco, parts)
    yield Hit(
        location=Location(path="mujoco"),
        message=f"mujoco {mujoco} cannot be imported: {cause or said}",
        evidence={"versions": {"mujoco": mujoco, **parts}, "missing_files": missing, "said": said},
        fix=_repair(mujoco, parts) if cause else "mend what the import names",
    )


def _cause(missing: dict[str, int], mujoco: str | None, parts: dict[str, str]) -> str | None:
    """What reinstalling mends; None: something else."""
    gone = [f"{counted(count, 'file')} of {name}" for name, count in missing.items()]
    if gone:
        return f"{' and '.join(gone)} {'is' if sum(missing.values()) == 1 else 'are'} gone"
    other = [f"{name} is {version}" for name, version in parts.items() if version != mujoco]
    return " and ".join(other) or None


def _repair(mujoco: str | None, parts: dict[str, str]) -> str:
    if since(mujoco, SPLIT_SINCE):
        wanted = [f"{name}=={mujoco}" for name in ("mujoco", *PARTS)]
        return f"pip install --force-reinstall --no-deps {' '.join(wanted)}"
    again = f"pip install --force-reinstall --no-deps mujoco=={mujoco}"
    return f"pip uninstall -y {' '.join(parts)} && {again}" if parts else again
