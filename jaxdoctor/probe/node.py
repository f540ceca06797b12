"""A node before a job: the tests of its cards, whatever a user has set."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import NoReturn

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import card_named
from jaxdoctor.machine.judged import examine_machine
from jaxdoctor.machine.node import DEVICES, PRODUCTS, Expectation, node_tests
from jaxdoctor.workers.progress import SILENT, Progress

USERS = ("JAX_", "XLA_", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "TF_")
"""Variables that begin so are a job's: none of them says anything about the node."""


def check_node(expectation: Expectation, *, time_limit: float = 60.0, progress: Progress = SILENT) -> Report:
    """The report on this node, with a test for each thing that is expected.

    Raises:
        UnknownNameError: no card is called so.
    """
    if expectation.card is not None:
        card_named(expectation.card)
    times = _Times(progress)
    with _without_settings():
        machine = examine_machine(time_limit=time_limit, progress=times)
    measured = () if machine.measured is None else machine.measured.products
    tests = node_tests(machine.environment, measured, expectation, times.seconds())
    unknown = [test for test in tests if test.passed is None]
    return Report(
        command="probe",
        subject="this node",
        examined=len(tests) - len(unknown),
        environment=machine.environment,
        deliveries=measured,
        tests=tests,
        skipped=(
            *machine.skipped,
            *(Skipped(subject=f"test {test.name}", reason=test.detail, asked=True) for test in unknown),
        ),
    )


@contextlib.contextmanager
def _without_settings() -> Iterator[None]:
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(USERS)}
    try:
        yield
    finally:
        os.environ.update(kept)


class _Times:
    """Progress that is handed on, with the moments at which stages began."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.began = time.monotonic()
        self.measuring: float | None = None

    def stage(self, title: str, total: float | None = None) -> None:
        """A stage with a total is one that counts products."""
        if total is not None and self.measuring is None:
            self.measuring = time.monotonic()
        self.progress.stage(title, total)

    def reached(self, amount: float) -> None:
        """Handed on."""
        self.progress.reached(amount)

    def hand_over(self, part: object) -> None:
        """Handed on."""
        self.progress.hand_over(part)

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """Handed on."""
        self.progress.end_with(error)

    def seconds(self) -> dict[str, float]:
        """Of the tests that take time: until the first product, and from it on."""
        now = time.monotonic()
        if self.measuring is None:
            return {DEVICES: now - self.began}
        return {DEVICES: self.measuring - self.began, PRODUCTS: now - self.measuring}
