"""A rollout to replay, from a command line or a configuration."""

import pytest

from jaxdoctor.config.settings import ProbeEntry
from jaxdoctor.errors import UsageError
from jaxdoctor.preflight.asks.probe import probe_ask


def test_a_rollout_is_as_long_as_the_recording_makes_it_unless_steps_are_asked_for():
    assert probe_ask(ProbeEntry(model="m.xml"), seconds=9).steps is None
    assert probe_ask(ProbeEntry(model="m.xml", steps=7), seconds=9).steps == 7
    assert probe_ask(ProbeEntry(scenario="hand"), seconds=9).steps == 100


def test_precisions_at_which_every_product_is_rounded_stand_apart():
    ask = probe_ask(ProbeEntry(model="m.xml", precision=("all-tf32", "13")), seconds=9)

    assert [one.name for one in ask.all_products] == ["all-tf32"]
    assert [one.name for one in ask.precisions] == ["13"]


def test_what_is_played_can_be_kept(tmp_path):
    """Of a model and of an environment; then no controls are read."""
    file = tmp_path / "played.npz"
    for entry in ({"model": "m.xml"}, {"env": "brax:ant"}):
        ask = probe_ask(ProbeEntry(controls=f"record:{file}", **entry), seconds=9)

        assert (ask.controls, ask.keep) == (None, file)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ProbeEntry(model="m.xml", precision=("tf31",)), "precision named 'tf31'"),
        (ProbeEntry(model="m.xml", cards=("4091",)), "card named '4091'"),
        (ProbeEntry(scenario="handd"), "scenario named 'handd'"),
        (ProbeEntry(controls="c.npy"), "no model"),
        (ProbeEntry(model="m.xml", controls="record:c.npy"), "kept in a .npz file"),
        (
            ProbeEntry(env="brax:ant", policy="runs/12", controls="c.npz"),
            "both --controls c.npz and --policy",
        ),
        (ProbeEntry(function="m:fn"), "without --args"),
        (ProbeEntry(model="m.xml", args="m:make"), "no function"),
        (ProbeEntry(function="m:fn", args="m:make", steps=9), "--steps is for a model"),
        (ProbeEntry(env="brax:ant", policy="m:act", bundle_policy=True), "without --bundle"),
        (ProbeEntry(env="brax:ant", bundle="f.zip", bundle_policy=True), "no policy"),
        (ProbeEntry(model="m.xml", scenario="hand"), "both m.xml and"),
    ],
)
def test_what_cannot_be_meant_is_said_before_the_work(entry, message):
    with pytest.raises(UsageError, match=message):
        probe_ask(entry, seconds=9)
