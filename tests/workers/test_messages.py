import io

from jaxdoctor.facts.finding import Severity
from jaxdoctor.workers.messages import receive, send


def test_an_enumeration_crosses_also_where_python_looks_it_up_by_name(monkeypatch):
    # As Python 3.11.2 has it.
    monkeypatch.setattr(Severity, "__reduce_ex__", lambda self, _: (getattr, (Severity, self.name)))
    pipe = io.BytesIO()
    send([Severity.ERROR, {"at": Severity.NOTE}], pipe)
    pipe.seek(0)

    assert receive(pipe) == [Severity.ERROR, {"at": Severity.NOTE}]
