"""JD350."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD350", Severity.WARNING)
def carried_code(checkpoint: Checkpoint) -> Hits:
    """A pickle carries functions as code.

    ## What it saw

    Calls of cloudpickle or dill that make a function or a class out of bytecode in the file, as they
    save lambdas and whatever stands in `__main__`. Nothing of it was executed.

    ## Why it matters

    Whoever calls such a function runs what the file says. What it does cannot be known from its name, and
    bytecode of another Python version fails or crashes.

    ## What to do

    Load it only if you trust who wrote it. Save arrays and settings, and take functions from a module.

    ## Example

    ```text
    JD350 warning carried-code: the pickle carries functions as code (cloudpickle.cloudpickle._make_function)
    ```

    ## Sources

    - https://github.com/cloudpipe/cloudpickle
    - https://docs.python.org/3/library/pickle.html
    """
    for fault in checkpoint.faults_of("carried-code"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix="load it only if you trust who wrote it; save arrays, and take functions from a module",
        )
