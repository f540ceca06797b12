"""What to change in a script, shown and never done; the changed script does what it says."""

import json
import os
import re
import subprocess
import sys

import pytest

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.recommend.script import difference


def setting(key="jax_default_matmul_precision", value="highest", means=Means.JAX):
    return Setting(means=means, key=key, value=value, because=("JD201",), reason="bits")


HIGHEST = Prescription(settings=(setting(),))
ALL = Prescription(
    settings=(
        setting(),
        setting("jax_enable_x64", value=True),
        setting("xla_cpu_enable_fast_math", value=False, means=Means.XLA),
        setting("PJRT_NPROC", "16", Means.ENVIRONMENT),
    )
)

TELL = (
    "import json, os, jax, jax.numpy as jnp\n"
    "print(json.dumps([jax.config.jax_default_matmul_precision, str(jnp.zeros(1).dtype),"
    " os.environ['XLA_FLAGS'].split()[-1], os.environ['PJRT_NPROC']]))\n"
)


def changes(text):
    return [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def patched(path, prescription):
    """The script as `patch` makes it of the difference."""
    (path.parent / "it.diff").write_text(difference(path, prescription))
    subprocess.run(["patch", "-s", str(path), str(path.parent / "it.diff")], check=True)
    return path


def test_a_value_is_changed_where_it_stands(tmp_path):
    script = tmp_path / "train.py"
    script.write_text('import jax\njax.config.update("jax_default_matmul_precision", "high")  # é\n')

    assert changes(difference(script, HIGHEST)) == [
        '-jax.config.update("jax_default_matmul_precision", "high")  # é',
        '+jax.config.update("jax_default_matmul_precision", "highest")  # é',
    ]
    assert 'high"' in script.read_text()


@pytest.mark.parametrize(
    "text", ["import jax\njax.config.update('jax_default_matmul_precision', 'highest')\n"]
)
def test_a_script_that_sets_it_already_needs_no_change(tmp_path, text):
    script = tmp_path / "train.py"
    script.write_text(text)

    assert difference(script, HIGHEST) == ""


@pytest.mark.parametrize(
    "head",
    [
        "import os\nimport jax\n",
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport jax\n',
        "import numpy as np\nfrom jax import numpy as jnp\n",
        "#!/usr/bin/env python\n",
    ],
)
def test_the_changed_script_makes_the_settings(tmp_path, head):
    """Variables come before jax is imported, options before it computes, whatever the script looks like."""
    script = tmp_path / "train.py"
    script.write_text(head + TELL)

    patched(script, ALL)

    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={
            name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "PJRT"))
        },
    )
    assert json.loads(done.stdout) == ["highest", "float64", "--xla_cpu_enable_fast_math=false", "16"]
    assert difference(script, ALL) == ""


@pytest.mark.parametrize("before", ["", "export JAX_DEFAULT_MATMUL_PRECISION=high\n"])
def test_a_shell_script_exports_them(tmp_path, before):
    script = tmp_path / "job.sbatch"
    script.write_text(f"#!/bin/bash\n#SBATCH --gres=gpu:1\n{before}env\n")

    patched(script, ALL)

    done = subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    stated = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert stated["JAX_DEFAULT_MATMUL_PRECISION"] == "highest"
    assert stated["JAX_ENABLE_X64"] == "true"
    assert stated["XLA_FLAGS"].split() == ["--xla_cpu_enable_fast_math=false"]
    assert script.read_text().startswith("#!/bin/bash\n#SBATCH --gres=gpu:1\n")
    assert difference(script, ALL) == ""


@pytest.mark.parametrize("content", [b"def (:\n", b"\xff\xfe", None])
def test_what_is_no_script_is_one_error(tmp_path, content):
    script = tmp_path / "train.py"
    if content is not None:
        script.write_bytes(content)

    with pytest.raises(UnreadableError):
        difference(script, HIGHEST)


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import os\nimport jax\n", 1),
        ("import jax\nimport os\n", 1),
        ("import sys, os\nimport jax\n", 1),
        ("import numpy\nimport os  # ours\nimport jax\n", 1),
        ("import jax\n", 1),
        ("import numpy\nimport os, sys\nimport jax\n", 2),
    ],
)
def test_os_is_imported_once_and_before_jax(tmp_path, text, imports):
    """Only where jax could be there already, and the import names more, is there another."""
    path = tmp_path / "train.py"
    path.write_text(text + TELL)

    own = patched(path, ALL).read_text().removesuffix(TELL)

    assert len(re.findall(r"^import .*\bos\b", own, flags=re.MULTILINE)) == imports
    assert own.index("PJRT_NPROC") < own.index("import jax")


def test_a_level_that_promises_more_than_it_gives_is_commented_on(tmp_path):
    """HIGH is TF32 on newer jaxlib, so a script that sets it may be no better than the default."""
    path = tmp_path / "train.py"
    path.write_text(
        "import jax\njax.config.update('jax_default_matmul_precision', 'highest')\n"
        "with jax.default_matmul_precision('high'):\n    pass\n# precision 'high' was tried\n"
    )

    text = difference(path, HIGHEST)

    assert text.startswith(f'# {path}:3: "high" may give no more bits than "default"')
    assert text.count("may give no more") == 1
