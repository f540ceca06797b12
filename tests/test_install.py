"""What installing jaxdoctor does to an environment in which somebody trains."""

import json
import subprocess
import sys
import venv

import pytest

from tests.paths import FIXTURES, ROOT

ENVIRONMENTS = sorted((FIXTURES / "environments").glob("*.txt"))
"""What `pip freeze` said in: brax 0.14.2 with playground, jax 0.6.2 with flax and orbax, mujoco 3.5.0 alone,
and NumPy 1.26 with jax 0.5.3."""


def pretend(packages, line):
    """Records a distribution as installed, which is all that pip's resolver looks at."""
    name, _, version = line.partition("==")
    folder = packages / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "INSTALLER").write_text("pip\n")
    (folder / "RECORD").write_text("")


@pytest.mark.slow
@pytest.mark.parametrize("frozen", ENVIRONMENTS, ids=lambda path: path.stem)
def test_installing_changes_no_version_that_is_there(frozen, tmp_path):
    """`pip install .` adds packages, and upgrades none."""
    venv.create(tmp_path / "there", symlinks=True, with_pip=True)
    (packages,) = (tmp_path / "there").glob("lib/python*/site-packages")
    present = [
        line for line in frozen.read_text().splitlines() if "==" in line and not line.startswith("pip==")
    ]
    for line in present:
        pretend(packages, line)
    report = tmp_path / "report.json"
    python = tmp_path / "there" / "bin" / "python"

    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--dry-run", "--report", report, ROOT],
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )

    chosen = {each["metadata"]["name"].lower() for each in json.loads(report.read_text())["install"]}
    assert "jaxdoctor" in chosen
    assert not chosen & {line.partition("==")[0].lower() for line in present}


def test_an_import_of_the_package_brings_nothing():
    """Its version is all that `import jaxdoctor` gives."""
    code = "import sys; before = set(sys.modules); import jaxdoctor; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert done == ["jaxdoctor"]
