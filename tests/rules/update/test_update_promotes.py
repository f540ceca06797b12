"""JD504: scalars that make arrays wide."""

from dataclasses import replace

from jaxdoctor.rules.update.update_promotes import update_promotes
from tests.signatures import SITE, hits, leaf, signature


def test_updates_wider_than_their_parameters_are_named_with_the_line():
    wide = signature(
        results=(leaf("w", "bfloat16", "float32", sites=(SITE,)), leaf("b", "bfloat16", "float32"))
    )

    (finding,) = hits(update_promotes, wide)

    assert finding.message == (
        "the update for w (and 1 more) is float32[], the parameter bfloat16[], "
        "where a float32[] operand promotes it: return p - LR * g"
    )


def test_a_promotion_inside_is_found_at_its_own_line_without_a_cure_that_nobody_tried():
    (finding,) = hits(update_promotes, signature(promotions=(SITE,)))

    assert finding.location.line == 4
    assert finding.fix is None


def test_a_promotion_inside_a_package_is_told_at_the_user_s_line():
    site = replace(SITE, package="optax/_src/transform.py:30")

    (finding,) = hits(update_promotes, signature(promotions=(site,)))

    assert "(in optax/_src/transform.py:30)" in finding.message


def test_updates_of_their_parameters_dtype_are_healthy():
    assert not hits(update_promotes, signature(results=(leaf("w", "bfloat16", "bfloat16"),)))
