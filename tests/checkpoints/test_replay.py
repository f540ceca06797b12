"""A scan says of a policy that `probe` can replay it, in one line of every format."""

import io
import json

import pytest

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.replay import replay_of
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.json_reader import received
from tests.builders import leaf
from tests.rollouts.policies.brax_saved import saved_by_brax

OF_POLICY = leaf("1/params/hidden_0/kernel", shape=(4, 8))
OF_VALUE = leaf("2/params/hidden_0/kernel", shape=(4, 8))


def test_what_is_not_told_stays_to_be_said(tmp_path):
    """A configuration, or the critic in a file of PPO's, tells the agent; a name with a space is quoted."""
    folder, file = tmp_path / "of mine", tmp_path / "params.pkl"
    file.touch()

    assert replay_of(folder, [OF_POLICY], {"network_config": {}}) == (
        f"jaxdoctor probe --env ENV --policy '{folder}'"
    )
    assert replay_of(file, [OF_POLICY, OF_VALUE], {}) == f"jaxdoctor probe --env ENV --policy {file}"
    assert replay_of(file, [OF_POLICY], {}).endswith(" --network brax:AGENT")
    assert replay_of(folder, [OF_POLICY, OF_VALUE], {}).endswith(" --network brax:AGENT")
    assert replay_of(file, [OF_VALUE, leaf("params/dense/kernel")], {}) is None


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Of a checkpoint folder and a file of the same policy."""
    saved = saved_by_brax(tmp_path_factory.mktemp("policy"))
    return saved, scan([saved.checkpoint, saved.params], Options())


@pytest.mark.parametrize("name", [name for name in FORMATS.names() if name != "gitlab"])
def test_every_format_says_it_once(report, name):
    """GitLab's list has room for findings alone."""
    saved, found = report
    out = io.StringIO()
    FORMATS.load(name).write(found, out)

    command = f"jaxdoctor probe --env ENV --policy {saved.params}"
    text = " ".join(out.getvalue().split())
    assert text.count(command) == 1
    if name != "json":
        assert "2 of them are policies, as the last one: replay it with" in text


def test_it_is_read_back(report):
    """From the JSON that was written."""
    _, found = report
    out = io.StringIO()
    FORMATS.load("json").write(found, out)

    read = received(json.loads(out.getvalue()))

    assert [saved.replay for saved in read.checkpoints] == [saved.replay for saved in found.checkpoints]
