"""JD355."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

GROUPS, STATE, PARAMS = "param_groups", "state", "params"
KEEPING = frozenset({"betas", "eps", "alpha", "momentum"})
"""Settings of optimizers that keep moments for every parameter; a momentum of zero keeps none."""

SPARING = frozenset({"history_size"})
"""L-BFGS keeps its whole state with the first parameter."""


@dataclass
class Optimizer:
    """One optimizer of torch, as its state dict shows it."""

    where: str
    """The path of its first setting."""

    settings: set[str] = field(default_factory=set)
    """Names of settings, as far as they tell whether it keeps state for each parameter."""

    parameters: set[tuple[str, ...]] = field(default_factory=set)
    with_state: set[tuple[str, ...]] = field(default_factory=set)


@rule("JD355", Severity.WARNING)
def optimizer_empty(checkpoint: Checkpoint) -> Hits:
    """The optimizer's state is not in the checkpoint, though the run is under way.

    ## What it saw

    In the state dict of an optimizer of torch: groups of parameters with their settings, and no state
    for any of them, in a checkpoint whose step is above zero. State for some of the parameters alone is
    a note: the others may be frozen. SGD without momentum, which has no state, and L-BFGS are left out.

    ## Why it matters

    Training goes on from here with moments of zero. Adam corrects their bias as in its first steps, and
    the first updates are as large as the learning rate, whatever the schedule has come to.

    ## What to do

    See how the state dict was gathered: `FSDP.optim_state_dict` on every rank, after the first step, and
    no `offload` that leaves it behind. Warm up again if the run must go on from here.

    ## Example

    ```text
    JD355 warning optimizer-empty: at step 20000 none of the optimizer's 4 parameters has state
    ```

    ## Sources

    - https://github.com/pytorch/pytorch/issues/140898
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html
    """
    step = checkpoint.step if checkpoint.own_step is None else checkpoint.own_step[1]
    if not step or step < 0:
        return
    for optimizer in _optimizers(checkpoint):
        if optimizer.settings and not optimizer.settings & SPARING:
            yield from _judge(checkpoint, optimizer, step)


def _optimizers(checkpoint: Checkpoint) -> list[Optimizer]:
    found: dict[tuple[str, ...], Optimizer] = {}
    for leaf in checkpoint.leaves:
        if GROUPS in leaf.names:
            index = leaf.names.index(GROUPS)
            above, below = leaf.names[:index], leaf.names[index + 1 :]
            _note_setting(found.setdefault(above, Optimizer(leaf.path)), leaf, below)
    for leaf in checkpoint.leaves:
        for index, name in enumerate(leaf.names):
            if name == STATE and leaf.names[:index] in found:
                found[leaf.names[:index]].with_state.add(leaf.names[index:-1])
    return list(found.values())


def _note_setting(optimizer: Optimizer, leaf: Leaf, below: tuple[str, ...]) -> None:
    """Takes one entry of a group in; `below` is ("0", "betas", "1") or ("0", "params", "3")."""
    if PARAMS in below[1:2]:
        optimizer.parameters.add(below)
    elif below[-1:] != ("momentum",) or leaf.value:
        optimizer.settings |= set(below) & (KEEPING | SPARING)


def _judge(checkpoint: Checkpoint, optimizer: Optimizer, step: int) -> Iterator[Hit]:
    held, known = len(optimizer.with_state), len(optimizer.parameters)
    if held and held >= known:
        return
    of_them = f"the optimizer's {counted(known, 'parameter')}" if known else "the optimizer's parameters"
    missing = f"{known - held:,} of" if held else "none of"
    verb = "have no" if held else "has"
    yield Hit(
        location=Location(path=checkpoint.path, leaf=optimizer.where, step=checkpoint.step),
        message=f"at step {step:,} {missing} {of_them} {verb} state",
        evidence={"step": step, "parameters": known or None, "with_state": held},
        fix="save the optimizer's state on every rank; warm up again if the run must go on from here",
        severity=Severity.NOTE if held else None,
    )
