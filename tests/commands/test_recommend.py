"""`jaxdoctor recommend`: earlier reports as one snippet."""

import io
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from jaxdoctor.cli import build
from jaxdoctor.errors import UnknownNameError, UnreadableError
from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.prescription import Means
from jaxdoctor.facts.report import Report
from jaxdoctor.prescriptions.from_findings import advice
from jaxdoctor.recommend.run import Verification, environment
from jaxdoctor.reports.formats.json import FORMAT
from jaxdoctor.rules.rule import RULES
from tests.attributions import MAKE_M
from tests.sample_reports import EMPTY, GOLDEN, HAND, PRESCRIPTION


@pytest.fixture
def reports(tmp_path):
    """Two reports that agree on one setting and differ about another."""
    other = replace(
        PRESCRIPTION, settings=(replace(PRESCRIPTION.settings[0], value="high"), PRESCRIPTION.settings[1])
    )
    paths = []
    for name, report in (("a.json", GOLDEN), ("b.json", replace(GOLDEN, prescription=other))):
        out = io.StringIO()
        FORMAT.write(report, out)
        (tmp_path / name).write_text(out.getvalue())
        paths.append(str(tmp_path / name))
    return paths


def recommend(*arguments):
    return CliRunner().invoke(build(), ["recommend", *arguments], catch_exceptions=False)


def test_one_report_gives_its_prescription_with_reason_and_price(reports):
    text = recommend(reports[0]).stdout

    assert 'jax.config.update("jax_default_matmul_precision", "highest")' in text
    assert "# costs: 2.1 x the time per step" in text


def test_a_report_gives_the_products_that_need_the_bits_with_width_cure_and_price(reports):
    text = recommend(*reports).stdout

    assert f"# instead: raise only {MAKE_M} from 13 bits on: 10.0% of the operations of all products" in text
    assert '# instead: step = jaxdoctor.remedies.raise_precision(step, sites=["mujoco/mjx/_src/supp' in text


def test_conflicts_are_said_and_not_set(reports):
    text = recommend(*reports, "--emit", "shell").stdout

    assert "# conflict, not set: jax_default_matmul_precision: " in text
    assert "export JAX_DEFAULT_MATMUL_PRECISION" not in text
    assert text.count("xla_gpu_enable_fast_min_max") == 1


@pytest.mark.parametrize(
    ("emit", "line"),
    [
        ("yaml", '  JAX_DEFAULT_MATMUL_PRECISION: "highest"'),
        ("dockerfile", 'ENV JAX_DEFAULT_MATMUL_PRECISION="highest"'),
        ("sbatch", "#SBATCH --export=ALL"),
        ("env", "JAX_DEFAULT_MATMUL_PRECISION=highest"),
    ],
)
def test_it_is_written_as_asked(reports, emit, line):
    assert line in recommend(reports[0], "--emit", emit).stdout.splitlines()


def test_a_script_is_compared_and_left_alone(reports, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import jax\n")

    text = recommend(reports[0], "--diff", str(script)).stdout

    assert '+jax.config.update("jax_default_matmul_precision", "highest")' in text.splitlines()
    assert script.read_text() == "import jax\n"


def test_what_is_no_report_is_one_error(tmp_path):
    (tmp_path / "x.json").write_text("{}")

    with pytest.raises(UnreadableError, match="has the schema None"):
        recommend(str(tmp_path / "x.json"))


def test_an_unknown_way_to_emit_names_the_nearest(reports):
    with pytest.raises(UnknownNameError) as caught:
        recommend(reports[0], "--emit", "pyton")

    assert "did you mean 'python'?" in caught.value.hint


def test_a_report_that_prescribes_nothing_says_so(tmp_path):
    out = io.StringIO()
    FORMAT.write(EMPTY, out)
    (tmp_path / "x.json").write_text(out.getvalue())

    assert recommend(str(tmp_path / "x.json")).stdout == "# no settings needed for what was examined\n"


@pytest.fixture
def looked_at(monkeypatch):
    """This machine, whose processor has too small a pool, looked at for whatever card."""
    pool = finding("cholesky-pool-too-small")

    def probe(ask, *, card, **_):
        return Report(command="probe", subject="this machine", examined=1, findings=(pool,))

    monkeypatch.setattr("jaxdoctor.recommend.run.probe", probe)


@pytest.mark.parametrize("emit", ["python", "shell", "yaml", "dockerfile", "sbatch", "env"])
def test_another_machines_card_gets_no_setting_of_this_processor(looked_at, emit):
    text = recommend("--card", "rtx-4090", "--emit", emit).stdout

    assert "PJRT_NPROC" not in text
    assert "# not judged: precision, for want of a rollout" in text
    assert "jaxdoctor probe MODEL --card rtx-4090" in text
    assert "PJRT_NPROC" in recommend("--emit", emit).stdout


def test_jax_is_not_imported(reports):
    code = (
        "import sys\n"
        f"sys.argv = ['jaxdoctor', 'recommend', {reports[0]!r}]\n"
        "from jaxdoctor.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print([name for name in ('jax', 'jaxlib', 'mujoco') if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "[]"


def finding(name, **rest):
    return Finding(
        code=RULES.load(name).code,
        name=name,
        severity=Severity.WARNING,
        location=Location(),
        message="m",
        **rest,
    )


def test_a_flag_that_hides_nan_is_set_to_false():
    (setting,) = advice(
        [finding("nan-lost-in-max", evidence={"flag": "xla_gpu_enable_fast_min_max"})]
    ).settings

    assert (setting.means, setting.key, setting.value) == (Means.XLA, "xla_gpu_enable_fast_min_max", False)
    assert setting.because == ("JD106",)


def test_a_setting_that_ends_jax_is_to_be_taken_out():
    found = advice([finding("refused-jax-setting", fix="unset JAX_X")])

    assert found.settings == ()
    assert found.removals == ("m: unset JAX_X (JD104)",)


def test_findings_about_anything_else_ask_for_no_setting():
    assert advice([finding("nonfinite-values")]) == advice([])


def test_a_verification_says_whether_the_verdict_changed():
    healthy = replace(HAND, verdict=Verdict.HEALTHY, delivered_bits=23)

    cured = Verification(model="hand.xml", before=HAND, after=healthy)
    same = Verification(model="hand.xml", before=HAND, after=HAND)

    assert cured.cured
    assert cured.sentence == (
        "hand.xml was precision (margin -4 bits) and is healthy (margin +9 bits) with these settings"
    )
    assert not same.cured
    assert same.sentence == "hand.xml stays precision (margin -4 bits) with these settings"
    assert not Verification(model="x", before=HAND, after=None).cured


def test_settings_as_variables_keep_the_flags_that_are_there(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")

    assert environment(PRESCRIPTION) == {
        "JAX_DEFAULT_MATMUL_PRECISION": "highest",
        "XLA_FLAGS": "--xla_a=1 --xla_gpu_enable_fast_min_max=false",
    }


def test_the_second_replay_runs_with_the_settings_and_no_later_process_does(monkeypatch):
    from jaxdoctor.recommend import run as module

    seen = []

    def probe(ask, **_):
        seen.append((os.environ.get("JAX_DEFAULT_MATMUL_PRECISION"), os.environ.get("XLA_FLAGS")))
        return Report(command="probe", subject=ask.subject, examined=1, outcomes=(HAND,))

    monkeypatch.setattr(module, "probe", probe)
    monkeypatch.delenv("JAX_DEFAULT_MATMUL_PRECISION", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")

    found = module.verify("hand.xml", PRESCRIPTION)

    assert seen == [(None, "--xla_a=1"), ("highest", "--xla_a=1 --xla_gpu_enable_fast_min_max=false")]
    assert (os.environ.get("JAX_DEFAULT_MATMUL_PRECISION"), os.environ["XLA_FLAGS"]) == (None, "--xla_a=1")
    assert not found.cured


@pytest.mark.slow
def test_the_hand_is_cured_by_what_its_own_probe_prescribes(tmp_path):
    """The whole way: probe, report, recommend, replay with the settings."""
    from jaxdoctor.models.scenario import scenario_path

    model = str(scenario_path("hand"))
    common = ["--card", "rtx-4090", "--time-limit", "200"]
    report = str(tmp_path / "report.json")
    probe = [sys.executable, "-m", "jaxdoctor", "probe", model, *common, "-o", report]
    assert subprocess.run(probe, check=False).returncode == 1

    done = recommend(report, "--verify", model, *common)

    assert done.exit_code == 0
    assert "was precision" in done.stderr
    assert "is healthy" in done.stderr
    assert "highest" in done.stdout
