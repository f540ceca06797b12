"""The step of a run beside those of its optimizers."""

from jaxdoctor.facts.optimizer_steps import disagreements
from tests.builders import checkpoint, leaf


def test_the_newest_parameter_speaks_for_its_optimizer():
    """Layers that were frozen at first have fewer updates."""
    saved = checkpoint(
        leaf("global_step", "int64", role="counter", value=1000),
        *(
            leaf(f"optimizer/state/{index}/step", "float32", role="counter", value=float(value))
            for index, value in enumerate([1000, 17])
        ),
    )

    assert not list(disagreements(saved))
