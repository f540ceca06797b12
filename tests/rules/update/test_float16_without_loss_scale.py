"""JD513: float16 gradients."""

from jaxdoctor.rules.update.float16_without_loss_scale import float16_without_loss_scale
from tests.signatures import SITE, hits, signature


def test_the_line_of_the_gradient_is_named():
    (finding,) = hits(float16_without_loss_scale, signature(unscaled_half=SITE))

    assert (finding.location.path, finding.location.line) == ("train.py", 4)
    assert finding.message.endswith("is in the update: return p - LR * g")


def test_an_update_without_such_gradients_is_healthy():
    assert not hits(float16_without_loss_scale, signature())
