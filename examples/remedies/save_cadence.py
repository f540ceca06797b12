"""A loop whose counter grows twice as fast as planned saves at every step past the plan."""

import warnings

from jaxdoctor.remedies import SaveCadence

PLANNED, EVERY = 100, 50
steps = range(2, 2 * PLANNED + 1, 2)  # an update and a minibatch are counted, and only one was planned


def should_save(step):
    """What a trainer does that saves at the end, and takes every step from there on for the end."""
    return step % EVERY == 0 or step >= PLANNED


print("saves of the trainer:", sum(should_save(step) for step in steps))
cadence = SaveCadence(EVERY, maximum=PLANNED)
with warnings.catch_warnings(record=True) as stated:
    warnings.simplefilter("always")
    saved = [step for step in steps if cadence.at(step)]
print("saves by cadence:", saved)
print("told:", stated[0].message)
