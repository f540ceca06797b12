"""Compares a real GPU with what jaxdoctor expects and emulates without one, and keeps the result.

Run it with `python benchmarks/calibrate_gpu.py` on a machine with a GPU that JAX can use. It measures every
product at every level, presets whose names say what they compute as controls, and the share of replays that
fail on each packaged scenario, natively and emulated. It writes `docs/calibration/CARD-jaxlib-VERSION.json`
and `.md`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxdoctor import __version__
from jaxdoctor.errors import JaxdoctorError, NothingExaminedError
from jaxdoctor.facts.delivery import HIGHEST, SETTINGS, Deliveries, Delivery
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.machine.card import Card, card_of_device_kind
from jaxdoctor.machine.devices import SURVEY
from jaxdoctor.machine.expected import PRESETS, deliveries_of_card
from jaxdoctor.machine.judged import Machine, examine_machine
from jaxdoctor.models.scenario import SCENARIOS
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe, scenario_ask
from jaxdoctor.workers.progress import shown
from jaxdoctor.workers.worker import run

NEEDS = (
    "run it where `jax.devices()` names an NVIDIA card, best of compute capability 8.0 or newer; "
    "pip install 'jax[cuda13]'"
)

LOOK_SECONDS = 120.0
"""Enough for JAX to start, on a busy machine too."""

SCHEMA = "jaxdoctor.calibration/1"
FOLDER = Path(__file__).parent.parent / "docs" / "calibration"

CONTROLS = ("F32_F32_F32", "TF32_TF32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3")
"""Presets that say what they compute. If the lanes name one otherwise, the lanes are wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, writes, and says where; the exit code is 3 where there is no GPU."""
    options = _options(arguments)
    try:
        with shown() as progress:
            card = _card()
            machine = examine_machine(time_limit=options.time_limit, progress=progress)
            controls = _controls(machine, options.time_limit)
            outcomes = list(_outcomes(options.scenario or SCENARIOS.names(), options.time_limit))
    except JaxdoctorError as error:
        print(f"error: {error}\n help: {error.hint}", file=sys.stderr)
        return error.exit_code
    result = document(machine, card, controls, outcomes)
    for suffix, text in ((".json", json.dumps(result, indent=2) + "\n"), (".md", markdown(result))):
        path = options.folder / f"{_slug(machine)}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the two files go")
    parser.add_argument("--scenario", action="append", help="only this packaged scenario; may be repeated")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds for each part")
    return parser.parse_args(arguments)


def _card() -> Card:
    """The card that JAX computes on; asked without measuring anything."""
    device = run(
        SURVEY((), 0.0), deadline=time.monotonic() + LOOK_SECONDS, subject="the look at this device"
    ).accelerator
    if device.platform != "gpu":
        raise NothingExaminedError(
            f"there is no GPU to calibrate with: JAX computes on {device.name}",
            hint=NEEDS,
        )
    card = card_of_device_kind(device.name)
    if card is None:
        raise NothingExaminedError(
            f"{device.name} is in no file of jaxdoctor/cards",
            hint="add it to its family's file, then run again",
        )
    return card


def _controls(machine: Machine, time_limit: float) -> tuple[Delivery, ...]:
    survey = run(
        SURVEY(CONTROLS, time_limit * 0.8), environment=machine.variables,
        deadline=time.monotonic() + time_limit, subject="the controls",
    )  # fmt: skip
    return tuple(survey.products)


def _outcomes(names: Sequence[str], time_limit: float) -> Iterator[Outcome]:
    for name in names:
        ask = scenario_ask(Ask(model="", subject=name, steps=None, time_limit=time_limit), name)
        yield from probe(ask).outcomes


def document(
    machine: Machine, card: Card, controls: Sequence[Delivery], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """The result, JSON-ready."""
    environment = machine.environment
    device = environment.device
    products = _compared(machine.deliveries, _expectation(machine, card, SETTINGS))
    return {
        "schema": SCHEMA,
        "jaxdoctor": __version__,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "device": {"name": device.name, "card": card.name, "driver": device.driver},
        "compute_capability": device.compute_capability,
        "versions": {name: version for name, version in environment.versions.items() if version},
        "settings": dict(environment.settings),
        "xla_flags": dict(environment.xla_flags),
        "products": products,
        "products_as_expected": sum(each["as_expected"] for each in products),
        "controls": list(_named(controls, _expectation(machine, card, CONTROLS))),
        "scenarios": [row for outcome in outcomes for row in _shares(outcome)],
        "skipped": [{"subject": each.subject, "reason": each.reason} for each in machine.skipped],
    }


def _expectation(machine: Machine, card: Card, settings: Sequence[str]) -> dict[tuple[str, ...], Delivery]:
    environment = machine.environment
    found = deliveries_of_card(
        card,
        environment.versions["jaxlib"] or "",
        xla_flags=environment.xla_flags,
        tf32_override=environment.settings.get("NVIDIA_TF32_OVERRIDE"),
        settings=settings,
    )
    return {_place(each): each for each in found.products}


def _place(each: Delivery) -> tuple[str, ...]:
    return each.setting, each.op, each.shape


def _compared(measured: Deliveries, expected: dict[tuple[str, ...], Delivery]) -> list[dict[str, Any]]:
    return [
        {
            **_product(each),
            "expected": known.arithmetic.value,
            "expected_bits": known.mantissa_bits,
            # The table promises no more than the worst kernel that XLA may choose.
            "as_expected": each.mantissa_bits >= known.mantissa_bits,
            "max_relative_error": each.max_relative_error,
            "milliseconds": each.milliseconds,
        }
        for each in measured.products
        if (known := expected.get(_place(each)))
    ]


def _named(
    controls: Sequence[Delivery], expected: dict[tuple[str, ...], Delivery]
) -> Iterator[dict[str, Any]]:
    """Only matrix products: a convolution takes no preset, and a vector product may ignore it."""
    for each in controls:
        known = expected.get(_place(each))
        if known is not None and (known.arithmetic, known.mantissa_bits) == PRESETS[each.setting]:
            alike = (each.arithmetic, each.mantissa_bits) == PRESETS[each.setting]
            yield {**_product(each), "named": known.arithmetic.value, "as_named": alike}


def _product(each: Delivery) -> dict[str, Any]:
    return {
        "setting": each.setting,
        "product": each.op,
        "shape": each.shape,
        "side": each.side,
        "measured": each.arithmetic.value,
        "measured_bits": each.mantissa_bits,
    }


def _shares(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Native trials beside the emulation at the same number of mantissa bits."""
    whole = [trial for trial in outcome.trials if trial.batch is None]
    emulated = {
        trial.precision.mantissa_bits: trial
        for trial in reversed(whole)
        if trial.kind is Kind.EMULATED and not trial.precision.x64
    }
    for trial in whole:
        if trial.kind is not Kind.NATIVE or trial.precision.x64:
            continue
        twin = emulated.get(trial.precision.mantissa_bits)
        yield {
            "scenario": outcome.subject,
            "setting": trial.precision.jax_setting or HIGHEST,
            "mantissa_bits": trial.precision.mantissa_bits,
            "native": _share(trial),
            "emulated": None if twin is None else _share(twin),
            "agree": None if twin is None else _overlap(trial, twin),
        }


def _share(trial: Trial) -> dict[str, Any]:
    return {
        "failed": trial.failed,
        "replays": trial.replays,
        "first_bad_step": trial.first_bad_step,
        "first_bad_field": trial.first_bad_field,
    }


def _overlap(one: Trial, other: Trial) -> bool:
    """Whether the two shares' 95 % intervals have a value in common."""
    return one.interval.low <= other.interval.high and other.interval.low <= one.interval.high


def markdown(result: dict[str, Any]) -> str:
    """The result for people."""
    device, versions = result["device"], result["versions"]
    total = len(result["products"])
    named = sum(each["as_named"] for each in result["controls"])
    lines = [
        f"# {device['name']}, jaxlib {versions.get('jaxlib')}",
        "",
        f"{result['date']}, jaxdoctor {result['jaxdoctor']}, jax {versions.get('jax')}.",
        f"Driver {device['driver']}, compute capability {result['compute_capability']}.",
        "",
        f"- {result['products_as_expected']} of {total} probed operands get the bits expected of them.",
        f"- {named} of {len(result['controls'])} operands of the controls are named as their preset is.",
        "",
        "| setting | operands | measured | expected |",
        "|---|---|---|---|",
        *_by_setting(result["products"]),
        "",
        "| scenario | setting | bits | native | emulated | agree |",
        "|---|---|---|---|---|---|",
        *(_row(each) for each in result["scenarios"]),
        "",
    ]
    return "\n".join(lines)


def _by_setting(products: Sequence[dict[str, Any]]) -> Iterator[str]:
    for setting in dict.fromkeys(each["setting"] for each in products):
        of_it = [each for each in products if each["setting"] == setting]
        cells = [
            ", ".join(
                f"{name} {sum(each[key] == name for each in of_it)}"
                for name in dict.fromkeys(each[key] for each in of_it)
            )
            for key in ("measured", "expected")
        ]
        yield f"| {setting} | {len(of_it)} | {' | '.join(cells)} |"


def _row(each: dict[str, Any]) -> str:
    native, emulated = each["native"], each["emulated"]
    stated = "-" if emulated is None else f"{emulated['failed']} of {emulated['replays']}"
    agree = {True: "yes", False: "no", None: "-"}[each["agree"]]
    return (
        f"| {each['scenario']} | {each['setting']} | {each['mantissa_bits']} "
        f"| {native['failed']} of {native['replays']} | {stated} | {agree} |"
    )


def _slug(machine: Machine) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", machine.environment.device.name.lower()).strip("-")
    return f"{name}-jaxlib-{machine.environment.versions['jaxlib']}"


if __name__ == "__main__":
    sys.exit(main())
