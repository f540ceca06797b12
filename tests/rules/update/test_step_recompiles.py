"""JD514: compiles that no array's type shows."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.signature import Recompile, Recorded
from jaxdoctor.rules.update.no_fixed_point import no_fixed_point
from jaxdoctor.rules.update.step_recompiles import step_recompiles
from tests.signatures import hits, leaf, signature

CAUSE = Recompile(cause="n is a Python int", leaf="n", fix="make it jnp.int32(0)", certain=True)


def test_what_compiles_at_every_call_is_an_error_and_told_once():
    ill = signature(leaf("x", "float32", "float32"), rounds=None, recompiles=(CAUSE,))

    (finding,) = hits(step_recompiles, ill)

    assert (finding.severity, finding.location.leaf) == (Severity.ERROR, "n")
    assert (finding.message, finding.fix) == (CAUSE.cause, CAUSE.fix)
    assert not hits(no_fixed_point, ill)


def test_what_may_compile_is_a_warning():
    (finding,) = hits(step_recompiles, signature(recompiles=(Recompile(cause="another batch"),)))

    assert finding.severity is Severity.WARNING


def test_a_step_without_causes_is_healthy():
    assert not hits(step_recompiles, signature())


def test_in_a_script_it_is_told_at_the_call():
    call = Recorded(name="step", file="train.py", line=40, kind="jit", calls=3)

    (finding,) = hits(step_recompiles, signature(recompiles=(CAUSE,), call=call))

    assert (finding.location.path, finding.location.line) == ("train.py", 40)
