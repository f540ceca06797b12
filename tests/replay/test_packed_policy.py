"""A policy that went through a bundle is the one that was read, and its code is nobody's but the user's."""

from dataclasses import replace

import numpy as np
import pytest

from jaxdoctor.bundles.bundle import PackedArray
from jaxdoctor.bundles.read import read
from jaxdoctor.bundles.write import write
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.replay.packed_policy import packed, unpacked
from jaxdoctor.rollouts.policy import Sizes, build_policy, read_policy
from jaxdoctor.rollouts.saved_policy import SavedPolicy, StoredArray
from tests.bundles.made import POLICY, a_bundle
from tests.rollouts.policies.brax_saved import saved_by_brax

WEIGHTS = SavedPolicy(
    kind="orbax",
    name="weights with net.py:act",
    arrays={("w",): StoredArray(dtype="float32", shape=(1,), content=bytes(4))},
    network="net.py:act",
)


def test_a_policy_of_brax_is_the_same_behind_its_bundle(tmp_path):
    """Read from either of Brax's forms."""
    run = saved_by_brax(tmp_path / "run", policy_hidden_layer_sizes=(4,))
    for form in (run.checkpoint, run.params):
        saved = read_policy(str(form))
        write(tmp_path / "f.zip", a_bundle(policy=packed(saved)))

        found = unpacked(read(tmp_path / "f.zip").policy, None)

        assert found == saved
    sizes, seen = Sizes(observation=4, action=2), np.linspace(-1, 1, 4, dtype="f4")
    acts = [build_policy(each, sizes) for each in (saved, found)]
    first, second = (act.apply(act.parameters, seen, None).action.tolist() for act in acts)
    assert first == second


def test_a_network_that_is_code_is_named_by_the_user(tmp_path):
    """Also where a stranger's file says which."""
    write(tmp_path / "f.zip", a_bundle(policy=packed(WEIGHTS)))
    policy = read(tmp_path / "f.zip").policy

    with pytest.raises(UsageError, match=r"network net\.py:act is code") as raised:
        unpacked(policy, None)
    assert "--network net.py:act" in raised.value.hint
    assert unpacked(policy, "mine.py:act").network == "mine.py:act"
    with pytest.raises(UsageError, match="nothing says which network"):
        unpacked(replace(policy, network=None), None)


def test_of_a_policy_that_is_code_only_the_name_is_there():
    held = packed(SavedPolicy(kind="function", name="train.py:act", network="train.py:act"))

    assert (held.name, dict(held.arrays), held.left_out) == ("train.py:act", {}, "train.py:act is code")


@pytest.mark.parametrize("kind", ["function", "random", "weather"])
def test_no_bundle_chooses_a_kind_without_weights(kind):
    """`function` would import what the file names."""
    with pytest.raises(UnreadableError, match=f"of the kind '{kind}'"):
        unpacked(replace(POLICY, kind=kind, network="evil.py:act"), "evil.py:act")


def test_a_network_that_the_bundle_describes_takes_no_other_word():
    with pytest.raises(UsageError, match="says itself"):
        unpacked(POLICY, "brax:ppo")


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": {}},
        {"config": {}},
        {"config": {"agent": "ppo", "network_factory_kwargs": {"mean_clip_scale": 10**400}}},
        {"config": {"agent": "ppo", "action_size": 7}},
        {
            "arrays": {
                ("1", "params", "hidden_0", "kernel"): PackedArray(dtype="uint8", shape=(), content=b"1")
            }
        },
    ],
)
def test_what_does_not_fit_its_own_description_is_one_error(changes):
    with pytest.raises((UnreadableError, UsageError)):
        unpacked(replace(POLICY, **changes), None)
