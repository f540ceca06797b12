"""`replay`: which replays a bundle gets, and what becomes of their answers."""

import pytest

from jaxdoctor.bundles.bundle import Failure
from jaxdoctor.bundles.read import read
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.facts.precision import F32, TF32
from jaxdoctor.machine.judged import examine_machine
from jaxdoctor.probe import bundle_replay
from jaxdoctor.probe.bundle_replay import ReplayAsk, replay_bundle
from jaxdoctor.replay.packed_policy import packed
from jaxdoctor.replay.plan import ReplayPlan
from jaxdoctor.reports.json_reader import received
from jaxdoctor.reports.json_writer import written
from jaxdoctor.rollouts.brax_layout import stated
from jaxdoctor.rollouts.saved_policy import SavedPolicy, StoredArray
from tests.replay.failing import by_hand


@pytest.fixture(scope="module")
def looked_at():
    """What is here, asked for once."""
    return examine_machine("rtx-4090", time_limit=20)


@pytest.fixture(autouse=True)
def machine(monkeypatch, looked_at):
    monkeypatch.setattr(bundle_replay, "examine_machine", lambda **_: looked_at)
    return looked_at


def in_c(path, **changes):
    return replay_bundle(ReplayAsk(bundle=str(path), engines=("c",), time_limit=60, **changes))


def test_a_failure_that_repeats_fails_the_command(tmp_path):
    report = in_c(by_hand(tmp_path))

    assert report.exit_code(report.fail_on) == 1
    (bundle,) = report.bundles
    (run,) = bundle.runs
    assert bundle.repeats(run)
    assert [finding.code for finding in report.findings] == ["JD280"]


def test_a_report_is_read_back(tmp_path):
    report = in_c(by_hand(tmp_path, versions={"jax": "0.4.1", "mujoco": None}, settings={"JAX_X": "1"}))

    document = written(report)
    again = received(document)

    assert again.bundles == report.bundles
    assert again.bundles[0].differences["jax"][0] == "0.4.1"
    assert again.bundles[0].differences["JAX_X"] == ("1", "unset")


def test_what_cannot_be_used_is_one_error(tmp_path):
    (tmp_path / "text").write_text("hello")
    path = by_hand(tmp_path, model=None, files={}, subject="gone.xml")

    with pytest.raises(UnreadableError, match="no bundle"):
        in_c(tmp_path / "text")
    with pytest.raises(UsageError, match=r"gone\.xml"):
        in_c(path)
    with pytest.raises(UsageError, match="no engine d"):
        replay_bundle(ReplayAsk(bundle=str(path), engines=("d",)))


def test_the_viewers_files_are_named(tmp_path):
    report = in_c(by_hand(tmp_path), to_xml=str(tmp_path / "view"))

    assert report.bundles[0].viewer == str(tmp_path / "view")
    assert (tmp_path / "view" / "failing.xml").exists()


def jobs(bundle, machine, **asked):
    ask = ReplayAsk(bundle=str(bundle), **asked)
    plan = ReplayPlan(bundle=ask.bundle, deadline=1e9)
    return list(bundle_replay._Replaying(ask, read(bundle), machine, plan, 1e9, None)._jobs())


def test_an_environment_is_named_by_the_bundle_but_code_and_policies_by_the_user(tmp_path):
    """A stranger's file chooses neither what is imported nor what is read."""

    def stepped(subject, **asked):
        path = by_hand(tmp_path, system="environment", subject=subject, model=None, files={})
        return bundle_replay._stepped(ReplayAsk(bundle=str(path), **asked), read(path))[0]

    assert stepped("--env brax:ant,backend=mjx") == "--env brax:ant,backend=mjx"
    assert stepped("--env evil.py:make", of="mine.py:make") == "--env mine.py:make"
    with pytest.raises(UsageError, match="code and not in it"):
        stepped("--env evil.py:make")
    with pytest.raises(UsageError, match=r"policy evil\.py:act drove"):
        stepped("--env brax:ant --policy evil.py:act")
    with pytest.raises(UnreadableError, match="names no environment"):
        stepped("evil.py:make")


def test_a_policy_in_the_bundle_needs_no_option(tmp_path):
    """What the user names comes before it; where only its name is there, the reason is said."""
    saved = SavedPolicy(
        kind="brax-params",
        name="gone.pkl (Brax PPO)",
        arrays={
            ("1", "params", "hidden_0", "kernel"): StoredArray(
                dtype="float32", shape=(2, 2), content=bytes(16)
            )
        },
        config=stated("brax:ppo,normalize_observations=false"),
    )

    def driver(held, **asked):
        path = by_hand(
            tmp_path,
            system="environment",
            subject="--env brax:ant --policy gone.pkl",
            model=None,
            files={},
            policy=held,
        )
        return bundle_replay._stepped(ReplayAsk(bundle=str(path), **asked), read(path))

    assert driver(packed(saved)) == ("--env brax:ant", saved)
    assert driver(packed(saved), policy="m.net:act")[1].name == "m.net:act"
    with pytest.raises(UsageError, match=r"not in the bundle$"):
        driver(None)
    code = SavedPolicy(kind="function", name="m.net:act", network="m.net:act")
    with pytest.raises(UsageError, match=r"not in the bundle: m\.net:act is code") as raised:
        driver(packed(code))
    assert "--policy" in raised.value.hint


def test_by_default_it_is_replayed_as_it_failed(tmp_path, machine):
    emulated = Failure(step=27, field="qacc", precision="tf32", emulated=True, bits=10, lanes=4)
    (job,) = jobs(by_hand(tmp_path, failure=emulated), machine)
    assert [(one.name, one.mantissa_bits) for one in job.plan.precisions] == [("tf32", 10)]

    (job,) = jobs(by_hand(tmp_path, failure=Failure(step=27, field="qacc", precision="f64")), machine)
    assert job.variables["JAX_ENABLE_X64"] == "1"

    (job,) = jobs(by_hand(tmp_path, failure=Failure(step=27, field="qacc", precision="high")), machine)
    assert job.variables["JAX_DEFAULT_MATMUL_PRECISION"] == "high"
    assert job.plan.how == "high, on this machine"


def test_precisions_share_a_program_and_other_engines_have_their_own(tmp_path, machine):
    found = jobs(by_hand(tmp_path), machine, precisions=(TF32, F32), x64=True, engines=("c", "warp", "mjx"))

    assert [job.subject for job in found] == [
        "the emulation of tf32, f32",
        "the replay at x64",
        "the replay on this machine",
        "the replay in C",
        "the replay in Warp",
    ]


def test_no_flag_of_a_bundle_reaches_xla_but_that_for_fusion(tmp_path, machine, monkeypatch):
    """`--xla_dump_to` in a stranger's file would write where it says."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    flags = f"--xla_dump_to=/tmp/x {bundle_replay.WITHOUT_FUSION}"
    failure = Failure(step=27, field="qacc", xla_flags=flags)

    (job,) = jobs(by_hand(tmp_path, failure=failure), machine, engines=("mjx",))

    assert bundle_replay.WITHOUT_FUSION in job.variables["XLA_FLAGS"]
    assert "dump" not in job.variables["XLA_FLAGS"]


@pytest.mark.slow
def test_probe_writes_a_bundle_and_a_fresh_process_sees_the_same_failure(tmp_path, monkeypatch):
    """The hand of the packaged scenarios, judged for a card with TF32, and replayed from its file alone."""
    from jaxdoctor.probe.ask import Ask
    from jaxdoctor.probe.run import probe, scenario_ask

    monkeypatch.chdir(tmp_path)
    ask = scenario_ask(Ask(model="", subject="", bundle="hand.zip", cures=False), "hand")
    probed = probe(ask, card="rtx-4090")
    (outcome,) = probed.outcomes

    report = replay_bundle(ReplayAsk(bundle="hand.zip"))

    assert outcome.bundle.precision == "tf32 (emulated)"
    (run,) = report.bundles[0].runs
    assert (run.first_bad_step, run.first_bad_field) == (outcome.bundle.step, outcome.bundle.field)
    assert (run.first_bad_step, run.first_bad_field) == (
        outcome.as_delivered.first_bad_step,
        outcome.as_delivered.first_bad_field,
    )
    assert received(written(probed)).outcomes[0].bundle == outcome.bundle
