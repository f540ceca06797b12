"""The machine, and what its products really get."""

from __future__ import annotations

from statistics import median

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.delivery import MEASURED, Delivery
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import counted
from jaxdoctor.reports.screen.lines import ALARM, labelled, say, table
from jaxdoctor.reports.wording import DASH, machine, test_line

ORDER = ("default", "high", "highest", "x64")
LABELS = ("machine", "versions", "settings")


def tests(report: Report, console: Console) -> None:
    """What a node was tested for, one line each, failed ones marked."""
    if report.tests:
        console.print()
    for test in report.tests:
        word, space, told = test_line(test).partition(" ")
        say(console, (word, "" if test.passed else ALARM), f"{space}{told}")


def assumed(report: Report, console: Console) -> None:
    """Which card is judged, where it is not the one of this machine."""
    if report.environment is not None and report.environment.assumed:
        say(console, report.environment.assumed)


def draw(report: Report, console: Console) -> None:
    """Three lines about the machine, and the products where they differ."""
    if report.environment is not None:
        console.print()
        for label, line in zip(LABELS, machine(report.environment), strict=True):
            labelled(console, label, line)
    expected = [product for product in report.deliveries if product.source != MEASURED]
    measured = [product for product in report.deliveries if product.source == MEASURED]
    if measured:
        _products("here" if expected else "products", measured, console)
    if expected:
        _products("products", expected, console)


def _products(label: str, deliveries: list[Delivery], console: Console) -> None:
    settings = sorted({product.setting for product in deliveries}, key=_rank)
    float32 = [product for product in deliveries if product.setting != "x64"]
    if len({(product.arithmetic, product.mantissa_bits) for product in float32}) == 1:
        labelled(console, label, _all_alike(float32))
        return
    console.print()
    table(
        console,
        ("setting", "arithmetic", "bits", "worst error", "time", "products"),
        [_row([product for product in deliveries if product.setting == setting]) for setting in settings],
        numbers="llrrrr",
    )


def _all_alike(products: list[Delivery]) -> str:
    first = products[0]
    names = ", ".join(sorted({product.setting for product in products}, key=_rank))
    shapes = counted(len({product.shape for product in products}), "tested matrix shape")
    return f"{first.mantissa_bits} bits ({first.arithmetic}) on {shapes} at every precision level: {names}"


def _row(products: list[Delivery]) -> tuple[str | Text, ...]:
    bits = sorted({product.mantissa_bits for product in products})
    kinds = dict.fromkeys(product.arithmetic.value for product in products)
    return (
        Text(products[0].setting, "bold"),
        ", ".join(kinds),
        str(bits[0]) if len(bits) == 1 else f"{bits[0]}-{bits[-1]}",
        f"{max(product.max_relative_error for product in products):.1e}",
        _time(products),
        str(len(products)),
    )


def _time(products: list[Delivery]) -> str:
    known = [product.milliseconds for product in products if product.milliseconds is not None]
    return f"{median(known):.3g} ms" if known else DASH


def _rank(setting: str) -> int:
    return ORDER.index(setting) if setting in ORDER else len(ORDER)
