"""JD509: callbacks."""

from dataclasses import replace

from jaxdoctor.rules.update.host_callback_in_update import host_callback_in_update
from tests.signatures import SITE, hits, signature


def test_a_print_that_was_left_in_is_named():
    site = replace(SITE, primitive="debug_callback", source='jax.debug.print("{}", loss)')

    (finding,) = hits(host_callback_in_update, signature(callbacks=(site,)))

    assert finding.message == 'debug_callback: jax.debug.print("{}", loss)'
    assert finding.location.line == 4


def test_none_is_healthy():
    assert not hits(host_callback_in_update, signature())
