"""JD236 on closed loops."""

from jaxdoctor.rules.precision.unnormalised_observation import unnormalised_observation
from tests.loops import driven, loop


def test_sizes_that_tf32_cannot_add_are_told():
    (finding,) = unnormalised_observation.judge(driven(policy=loop(normalises=False, scales=(0.03, 12e3))))

    assert finding.message == "the policy has no normaliser, and reads entries from 0.03 to 1.2e+04"


def test_a_normaliser_like_sizes_or_an_untrained_policy_are_not():
    for policy in (
        loop(scales=(0.03, 12e3)),
        loop(normalises=False, scales=(20.0, 12e3)),
        loop(normalises=False, scales=(0.001, 9.0)),
        loop(normalises=False, scales=(0.03, 12e3), trained=False),
    ):
        assert not list(unnormalised_observation.judge(driven(policy=policy)))
