"""examples/ci and the files that services read, run as far as that goes without the services."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.paths import ROOT

EXAMPLE = ROOT / "examples" / "ci"
SARIF = json.loads((ROOT / "tests" / "reports" / "formats" / "sarif_subset.json").read_text())


def yaml(path):
    import yaml as pyyaml

    return pyyaml.safe_load(path.read_text())


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of the example after its training run, with `jaxdoctor` on the PATH."""
    repository = tmp_path / "repository"
    shutil.copytree(EXAMPLE, repository, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    subprocess.run([sys.executable, "make_checkpoints.py"], cwd=repository, check=True)
    stub(tmp_path, "jaxdoctor", f'exec {sys.executable} -m jaxdoctor "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository)
    return repository


def stub(tmp_path, name, body):
    (tmp_path / "bin").mkdir(exist_ok=True)
    path = tmp_path / "bin" / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def step(name):
    (found,) = [step for step in yaml(ROOT / "action.yml")["runs"]["steps"] if step["name"] == name]
    return found


def run_action(place, **inputs):
    """The preflight step of the action, with its inputs as the runner hands them over."""
    known = {name: entry["default"] for name, entry in yaml(ROOT / "action.yml")["inputs"].items()}
    chosen = {**known, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: chosen[found[1]], value)
        for name, value in step("Preflight")["env"].items()
    }
    output, summary = place / "output.txt", place / "summary.md"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Preflight")["run"]],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
    )


def test_the_action_fails_uploads_valid_sarif_and_passes_against_a_baseline(place):
    """What the example is for, from the first red run to the green one."""
    first = run_action(place, arguments="--only scan")

    assert first.returncode == 1, first.stderr
    assert "::error file=runs/step_200.npz,title=JD301 nonfinite-values::kernel: 1 of 64" in first.stdout
    assert (place / "output.txt").read_text() == "exit-code=1\n"
    assert "JD301 nonfinite-values" in (place / "summary.md").read_text()
    sarif = json.loads((place / "jaxdoctor.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(sarif)
    assert "JD301" in [result["ruleId"] for result in sarif["runs"][0]["results"]]

    assert run_action(place, arguments="--only scan --write-baseline known.json").returncode == 0
    second = run_action(place, arguments="--only scan", baseline="known.json")

    assert second.returncode == 0, second.stdout
    assert "::error" not in second.stdout


@pytest.mark.slow
def test_the_whole_example_with_its_rollout(place):
    """The healthy model is probed for a card, and only the checkpoint is found ill."""
    done = run_action(place, arguments="--changed-only")

    assert done.returncode == 1, done.stderr
    assert run_action(place, arguments="--changed-only --write-baseline known.json").returncode == 0
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    assert errors
    assert all("runs/" in line for line in errors)
    summary = (place / "summary.md").read_text()
    assert "no product of it runs on matrix units" in summary
    assert run_action(place, arguments="--changed-only", baseline="known.json").returncode == 0


def test_no_input_reaches_the_script_but_as_a_variable(place):
    """An expression in `run` would let an input end a command."""
    for one in yaml(ROOT / "action.yml")["runs"]["steps"]:
        assert "${{" not in one.get("run", "")

    done = run_action(place, arguments="--only scan", baseline="x; touch smuggled $(touch smuggled)")

    assert done.returncode == 2
    assert not (place / "smuggled").exists()


def test_findings_of_a_folder_below_stand_at_the_repositorys_root(place, tmp_path):
    """The action's `working-directory`: GitHub reads names from the root, wherever jaxdoctor ran."""
    (tmp_path / ".git").mkdir()

    done = run_action(place, arguments="--only scan")

    assert "::error file=repository/runs/step_200.npz,title=JD301" in done.stdout
    (run,) = json.loads((place / "jaxdoctor.sarif").read_text())["runs"]
    uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]}
    assert uris == {"repository/runs/step_200.npz"}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{tmp_path.as_uri()}/"


def test_a_checkout_without_its_git_folder_starts_from_the_workspace(place, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))

    assert "::error file=repository/runs/step_200.npz" in run_action(place, arguments="--only scan").stdout


def test_the_workflow_gives_the_action_what_it_takes():
    steps = yaml(EXAMPLE / "workflow.yml")["jobs"]["preflight"]["steps"]

    (uses,) = [step for step in steps if step["uses"].startswith("jaxdoctor/")]
    assert set(uses["with"]) <= set(yaml(ROOT / "action.yml")["inputs"])


def test_everything_that_is_fetched_is_pinned_by_a_commit():
    texts = [path.read_text() for path in (ROOT / "action.yml", EXAMPLE / "workflow.yml")]
    pins = [pin for text in texts for pin in re.findall(r"uses: \S+@(\S+)", text)]
    (hooks,) = yaml(EXAMPLE / "pre-commit-config.yaml")["repos"]

    assert len(pins) == 4
    assert all(re.fullmatch("[0-9a-f]{40}", pin) for pin in [*pins, hooks["rev"]])


def test_a_linter_of_workflows_has_nothing_to_say():
    files = [ROOT / "action.yml", EXAMPLE / "workflow.yml"]

    done = subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", *files],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_snippet_for_pre_commit_names_hooks_that_there_are():
    (repository,) = yaml(EXAMPLE / "pre-commit-config.yaml")["repos"]

    assert {hook["id"] for hook in repository["hooks"]} == {
        hook["id"] for hook in yaml(ROOT / ".pre-commit-hooks.yaml")
    }


def test_each_pre_commit_hook_runs(place):
    """The entry is what pre-commit calls, the pattern what it hands over."""
    preflight, scan = yaml(ROOT / ".pre-commit-hooks.yaml")
    files = [str(path.relative_to(place)) for path in sorted(place.rglob("*")) if path.is_file()]
    chosen = [file for file in files if re.search(scan["files"], file)]

    assert chosen == ["runs/step_100.npz", "runs/step_200.npz"]
    assert (
        subprocess.run([*scan["entry"].split(), chosen[0]], check=False, capture_output=True).returncode == 0
    )
    assert subprocess.run([*scan["entry"].split(), *chosen], check=False, capture_output=True).returncode == 1
    narrow = [*preflight["entry"].split(), "--only", "scan"]
    assert subprocess.run(narrow, check=False, capture_output=True).returncode == 1


def test_the_gitlab_job_leaves_its_artifacts(place):
    job = yaml(EXAMPLE / "gitlab-ci.yml")["jaxdoctor"]
    install, command = job["script"]

    assert install == 'pip install "jaxdoctor[probe] @ git+https://github.com/jaxdoctor/jaxdoctor"'
    done = subprocess.run(
        ["bash", "-c", f"{command} --only scan"], check=False, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "JD301 error nonfinite-values" in done.stdout
    quality = json.loads((place / job["artifacts"]["reports"]["codequality"]).read_text())
    assert "nonfinite-values" in [issue["check_name"] for issue in quality]
    assert int(ET.parse(place / job["artifacts"]["reports"]["junit"]).getroot().get("failures")) >= 1
    assert [(place / path).exists() for path in job["artifacts"]["paths"]] == [True]


@pytest.mark.parametrize(
    ("code", "prolog", "drained"), [(0, 0, False), (1, 1, True), (2, 0, False), (3, 0, False), (70, 0, False)]
)
def test_the_prolog_drains_on_1_and_leaves_alone_on_everything_else(place, tmp_path, code, prolog, drained):
    said = "PASS devices: 8 x `reboot`\nFAIL count: 7 cards; expected 8\nFAIL products: $(reboot)\n2 of 3"
    stub(tmp_path, "jaxdoctor", f"cat <<'END'\n{said}\nEND\nexit {code}")
    stub(tmp_path, "scontrol", f'printf "%s\\n" "$@" > {tmp_path}/drained')
    stub(tmp_path, "logger", f'printf "%s\\n" "$@" > {tmp_path}/logged')

    done = subprocess.run(
        [place / "slurm-prolog.sh"], check=False, env={**os.environ, "SLURMD_NODENAME": "n7"}
    )

    assert done.returncode == prolog
    assert (tmp_path / "drained").exists() is drained
    assert (tmp_path / "logged").exists() is (code not in (0, 1))
    if drained:
        stated = (tmp_path / "drained").read_text().splitlines()
        assert stated[1:] == ["NodeName=n7", "State=DRAIN", "Reason=jaxdoctor: count,products failed"]


@pytest.mark.slow
def test_the_prolog_asks_what_the_tests_of_a_node_take(place, tmp_path):
    """Its own command line, on a machine without the cards that it expects."""
    stub(tmp_path, "scontrol", f'printf "%s\\n" "$@" > {tmp_path}/drained')
    stub(tmp_path, "logger", f'printf "%s\\n" "$@" > {tmp_path}/logged')

    done = subprocess.run(
        [place / "slurm-prolog.sh"], check=False, env={**os.environ, "JAXDOCTOR_SECONDS": "120"}
    )

    assert done.returncode == 1
    assert (tmp_path / "drained").read_text().splitlines()[
        -1
    ] == "Reason=jaxdoctor: devices,card,count failed"


def test_a_prolog_that_hangs_leaves_the_node_alone(place, tmp_path):
    stub(tmp_path, "jaxdoctor", "sleep 30")
    stub(tmp_path, "logger", ":")
    stub(tmp_path, "scontrol", f"touch {tmp_path}/drained")

    done = subprocess.run(
        [place / "slurm-prolog.sh"], check=False, env={**os.environ, "JAXDOCTOR_SECONDS": "1"}
    )

    assert done.returncode == 0
    assert not (tmp_path / "drained").exists()


def test_the_example_for_pytest_fails_with_the_report(place):
    (place / "jaxdoctor.yaml").write_text("scan: [{path: runs}]\n")
    text = (place / "test_preflight.py").read_text()
    (place / "test_preflight.py").write_text(text.replace('"--level", "1"', '"--only", "scan"'))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_preflight.py"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "JD301 error nonfinite-values" in done.stdout


def test_the_readme_of_the_example_says_what_happens(place):
    """Its commands, one after the other, exit as the text below them says."""
    block = re.search(r"```console\n(.*?)```", (place / "README.md").read_text(), flags=re.DOTALL)[1]
    commands = [line.removeprefix("$ ") for line in block.splitlines()]

    codes = [
        subprocess.run(
            ["bash", "-c", command.replace("python ", f"{sys.executable} ", 1)],
            check=False,
            capture_output=True,
        ).returncode
        for command in commands
    ]

    assert codes == [0, 1, 0, 0]


def test_the_container_runs_what_its_recipe_says():
    """The recipe is not built here; its command is a command of ours."""
    instructions = dict(
        line.split(" ", 1) for line in (EXAMPLE / "Dockerfile").read_text().splitlines() if line[:1].isupper()
    )

    assert json.loads(instructions["ENTRYPOINT"]) == ["jaxdoctor"]
    (command,) = json.loads(instructions["CMD"])
    assert command in [path.stem for path in (ROOT / "jaxdoctor" / "commands").glob("*.py")]
    assert instructions["USER"] != "root"
