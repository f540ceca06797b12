"""Training scripts as they are: which call is taken, and what is said where there is none."""

import pytest

from jaxdoctor.errors import NOTHING_EXAMINED, JaxdoctorError, NothingExaminedError, UsageError
from jaxdoctor.facts.finding import Severity
from jaxdoctor.updates.check import Wish, check_update
from jaxdoctor.updates.script_plan import ScriptPlan
from tests.paths import ROOT

SCRIPTS = ROOT / "tests" / "updates" / "scripts"


def ran(script, *arguments, **more):
    plan = ScriptPlan(script=str(script), arguments=arguments, **more)
    report = check_update(Wish(script=plan, time_limit=90))
    (signature,) = report.signatures
    return report, signature


def test_a_plain_script_is_judged_by_its_training_step_not_by_its_environment(capfd):
    report, signature = ran(SCRIPTS / "linen.py", "--seed", "3")

    assert (signature.call.name, signature.call.kind, signature.call.calls) == ("train_step", "jit", 3)
    assert signature.call.file == "tests/updates/scripts/linen.py"
    (other,) = signature.call.others
    assert other.endswith("(env_step), 5 calls")
    assert (signature.state_parts, signature.data) == (("state",), ("batch",))
    assert {counter.leaf: counter.start for counter in signature.counters} == {
        "step": 0,
        "opt_state/0/count": 0,
    }
    assert not report.findings
    assert capfd.readouterr().out == ""


def test_training_inside_one_jitted_function_is_judged_by_its_outermost_loop():
    """And never run: it would take ten million updates."""
    report, signature = ran(SCRIPTS / "ppo.py")

    assert (signature.call.name, signature.call.kind) == ("_update_step", "loop")
    assert {counter.leaf for counter in signature.counters} == {"0/step", "0/opt_state/1/0/count"}
    assert (signature.verdict, report.findings) == ("stable", ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "call", "kind", "parts", "counters"),
    [
        (
            "dqn",
            (),
            "_update_step",
            "loop",
            ("runner_state",),
            {"0/timesteps": 16, "0/n_updates": 1, "1/pos": None},
        ),
        ("nnx_script", (), "train_step", "nnx.jit", ("model", "optimizer"), {"optimizer/step/value": 1}),
        ("equinox_script", (), "make_step", "filter_jit", ("model", "opt_state"), {"opt_state/0/count": 1}),
        ("haiku_script", (), "update", "jit", ("params", "opt_state"), {"opt_state/0/count": 1}),
        ("hydra_script", ("+rate=0.1",), "step", "pmap", ("params", "opt_state"), {"opt_state/0/count": 1}),
        ("sharded", (), "step", "jit", ("params", "opt_state"), {}),
    ],
)
def test_scripts_of_every_library(script, arguments, call, kind, parts, counters, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # Hydra writes its outputs there.

    report, signature = ran(SCRIPTS / f"{script}.py", *arguments)

    assert (signature.call.name, signature.call.kind) == (call, kind)
    assert (signature.state_parts, signature.verdict) == (parts, "stable")
    found = {counter.leaf: counter.increment for counter in signature.counters}
    assert counters.items() <= found.items()
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR]


def test_a_jitted_method_under_absl_is_judged_with_its_line():
    report, signature = ran(SCRIPTS / "trainer.py", "--steps", "5")

    (finding,) = report.findings
    source = (SCRIPTS / "trainer.py").read_text().splitlines()
    assert finding.name == "state-dtype-drifts"
    assert "jnp.float32(0.1) * u" in source[finding.location.line - 1]
    assert (signature.call.name, signature.donated) == ("Trainer.update", True)


def test_compiles_are_counted_for_real():
    """A last batch of another size compiles once more, and `jax` says so too."""
    report, signature = ran(SCRIPTS / "haiku_script.py", calls=5)

    assert signature.call.compiled == (True, False, False, True, False)
    (finding,) = report.findings
    assert finding.message == (
        "call 4 has batch as float32[7,4], call 1 as float32[16,4]: XLA compiled there"
    )


def test_a_call_can_be_named():
    _, signature = ran(SCRIPTS / "linen.py", call="env_step")

    assert (signature.call.name, signature.state_parts) == ("env_step", ("state",))

    with pytest.raises(UsageError, match="makes no call 'train'") as caught:
        ran(SCRIPTS / "linen.py", "--updates", "3", call="train")
    assert "(env_step)" in caught.value.hint
    assert "(train_step)" in caught.value.hint


def test_a_module_is_run_as_python_does():
    _, signature = ran("tests.updates.scripts.linen", module=True)

    assert (signature.target, signature.call.name) == ("-m tests.updates.scripts.linen", "train_step")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('done')", "train.py ends and calls no jitted function"),
        ("input('name? ')", "train.py waits for input at {file}:1 before it calls a jitted function"),
        ("import os\nos.listdir('/no/data')", "train.py raises FileNotFoundError: "),
        (
            "import sys\nsys.exit('need --data')",
            "train.py exits with need --data at {file}:2 before it calls a jitted function",
        ),
        ("def f(:", "train.py is no Python: SyntaxError: "),
        (
            "import jax\nf = jax.jit(lambda x: x.sum())\nf(jax.numpy.ones(3))",
            "train.py ends; of what it jits nothing returns the state that it takes",
        ),
    ],
)
def test_a_script_without_a_step_is_told_in_a_sentence(tmp_path, monkeypatch, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(code)

    with pytest.raises(NothingExaminedError) as caught:
        ran("train.py")

    assert str(caught.value).startswith(message.format(file="train.py"))
    assert "\n" not in str(caught.value) + caught.value.hint


def test_a_script_that_hangs_before_it_trains_is_ended(tmp_path):
    (tmp_path / "train.py").write_text("import time\nwhile True:\n    time.sleep(0.1)\n")

    with pytest.raises(JaxdoctorError) as caught:
        check_update(Wish(script=ScriptPlan(script=str(tmp_path / "train.py")), time_limit=4))

    assert "train.py" in str(caught.value)
    assert caught.value.exit_code == NOTHING_EXAMINED


def test_a_call_that_jax_refuses_is_judged_and_ends_the_script(tmp_path):
    """A scan that refuses its carry raises: then the finding is what matters."""
    path = tmp_path / "train.py"
    path.write_text(
        "import jax, jax.numpy as jnp, optax\n"
        "tx = optax.adam(1e-3)\n"
        "params = {'w': jnp.ones(3, jnp.bfloat16)}\n"
        "def body(carry, x):\n"
        "    params, state = carry\n"
        "    updates, state = tx.update({'w': x}, state)\n"
        "    return ({'w': params['w'] + jnp.float32(0.1) * updates['w']}, state), None\n"
        "run = jax.jit(lambda c, xs: jax.lax.scan(body, c, xs))\n"
        "run((params, tx.init(params)), jnp.ones((5, 3), jnp.bfloat16))\n"
    )

    report, signature = ran(path)

    assert [finding.code for finding in report.findings] == ["JD511"]
    assert report.findings[0].location.line == 7
    assert (signature.call.kind, signature.call.calls) == ("jit", 0)


@pytest.mark.slow
def test_a_trainer_that_this_jax_cannot_start_is_a_finding(tmp_path):
    """Brax 0.14 calls what jax 0.10 no longer has."""
    path = tmp_path / "train.py"
    path.write_text(
        "from brax import envs\n"
        "from brax.training.agents.ppo import train as ppo\n"
        "environment = envs.get_environment('inverted_pendulum', backend='generalized')\n"
        "ppo.train(environment=environment, num_timesteps=1000, episode_length=50, num_envs=8,\n"
        "          batch_size=8, num_minibatches=1, unroll_length=5)\n"
    )

    report = check_update(Wish(script=ScriptPlan(script=str(path)), time_limit=120))

    assert [finding.code for finding in report.findings] == ["JD114"]
    (skipped,) = report.skipped
    assert "device_put_replicated" in skipped.reason
