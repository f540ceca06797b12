"""Several prescriptions as one."""

from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.prescriptions.merge import merged


def setting(
    value="highest", because=("JD201",), reason="bits", price=None, key="jax_default_matmul_precision"
):
    return Setting(means=Means.JAX, key=key, value=value, because=because, reason=reason, price=price)


def of(*settings, **rest):
    return Prescription(settings=settings, **rest)


def test_what_two_want_alike_is_set_once_with_both_reasons_and_prices():
    both = merged(
        [
            ("a.json", of(setting(price="2 x"), reach=("Warp",))),
            ("b.json", of(setting(because=("JD202",), reason="margin", price="3 x"), reach=("Warp",))),
        ]
    )

    assert both == of(
        setting(because=("JD201", "JD202"), reason="bits; margin", price="2 x; 3 x"), reach=("Warp",)
    )


def test_what_two_want_differently_is_said_and_not_set():
    found = merged([("a.json", of(setting())), ("b.json", of(setting(value="high", because=())))])

    assert found.settings == ()
    assert found.conflicts == (
        "jax_default_matmul_precision: a.json wants 'highest' (JD201), b.json wants 'high'",
    )


def test_different_settings_stand_beside_each_other():
    found = merged([("a", of(setting())), ("b", of(setting(key="jax_enable_x64", value=True)))])

    assert [one.key for one in found.settings] == ["jax_default_matmul_precision", "jax_enable_x64"]
    assert found.conflicts == ()


def test_earlier_conflicts_stay_said():
    assert merged([("a", of(conflicts=("x",))), ("b", of(conflicts=("x",)))]).conflicts == ("x",)


def test_nothing_merges_to_nothing():
    assert merged([]) == Prescription()
