"""The machine that a run is judged for: its environment, and what its products get."""

from __future__ import annotations

import dataclasses
import difflib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.bfloat16 import in_settings
from jaxdoctor.facts.delivery import SETTINGS, X64, Deliveries, Delivery
from jaxdoctor.facts.environment import Accelerator, Environment, Software
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.precision import Precision
from jaxdoctor.machine.card import ANY_TF32, HERE, Card, card_named, card_of_device_kind
from jaxdoctor.machine.cores import pool_threads, usable_cores
from jaxdoctor.machine.devices import PRECISION_VARIABLE, Devices
from jaxdoctor.machine.expected import deliveries_of_card, level_of
from jaxdoctor.machine.imports import Imports, tried_imports
from jaxdoctor.machine.installed import versions_examined
from jaxdoctor.machine.measured import Survey
from jaxdoctor.machine.nvidia import NvidiaSmi, ask_nvidia_smi, kernel_driver
from jaxdoctor.machine.refused import Refusals
from jaxdoctor.machine.stored import StoredSurveys
from jaxdoctor.workers.interpreter import examined
from jaxdoctor.workers.progress import SILENT, Progress

OVERRIDE_VARIABLE = "NVIDIA_TF32_OVERRIDE"

WARP_VARIABLE = "MJX_GPU_DEFAULT_WARP"
"""Set to true, it has MJX compute in Warp on a GPU where the code does not say `impl`."""

NEAR = 0.8
"""A JAX_* variable that JAX does not know is taken for a mistyped one from this similarity on."""

MEANT = {"X64": "JAX_ENABLE_X64", "PRECISION": PRECISION_VARIABLE}
"""What a variable with that word in its name is meant to do."""

READ_WITHOUT_BEING_OPTIONS = (
    # Variables that jax reads from the environment itself; every other JAX_* one is an option's.
    "JAX_BACKEND_TARGET",
    "JAX_COORDINATOR_ADDRESS",
    "JAX_COORDINATOR_BIND_ADDRESS",
    "JAX_COORDINATOR_PORT",
    "JAX_EXPORT_IGNORE_FORWARD_COMPATIBILIY",
    "JAX_FORCE_TPU_INIT",
    "JAX_LOCAL_DEVICE_IDS",
    "JAX_PARTITION_INDEX",
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK",
    "JAX_SLICE_INDEX",
)

UNKNOWN = Accelerator(name="unknown", platform="unknown")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a probe has to know about the machine."""

    environment: Environment
    software: Software
    deliveries: Deliveries
    """What is judged: measured here, or expected of the card that is asked about."""

    measured: Deliveries | None = None
    """What was measured on this device; the same as `deliveries` when nothing else is judged."""

    variables: Mapping[str, str | None] = field(default_factory=dict)
    """What every further worker must set, because what the user has set ends JAX. None unsets."""

    skipped: tuple[Skipped, ...] = ()

    @property
    def setting(self) -> str:
        """Which of the deliveries' settings DEFAULT means, as JAX is configured here."""
        return self.deliveries.configured

    @property
    def delivered(self) -> Precision | None:
        """What a product gets while the code names no precision; None: it is not known."""
        return self.deliveries.precision(self.setting)

    @property
    def products(self) -> tuple[Delivery, ...]:
        """What is judged, and behind it what was measured on another device that is here."""
        if self.measured is None or self.measured is self.deliveries:
            return self.deliveries.products
        return (*self.deliveries.products, *self.measured.products)

    @property
    def facts(self) -> tuple[Any, ...]:
        """What the rules judge."""
        return self.environment, self.deliveries, self.software, *in_settings(self.environment)


def examine_machine(
    card: str = HERE, *, time_limit: float = 60.0, progress: Progress = SILENT, stored: bool = False
) -> Machine:
    """The machine that is here, or the one that a card's name stands for.

    Args:
        card: a name from `cards/`, or "here". Where JAX has no accelerator, "here" stands for any card with
            TF32, or for the one that nvidia-smi lists.
        time_limit: seconds for everything.
        progress: is given the stages.
        stored: whether an answer of an earlier command will do, where nothing has changed since.

    Raises:
        UnknownNameError: no card is called so.
    """
    asked = None if card == HERE else card_named(card)
    devices = Devices(time.monotonic() + time_limit, progress)
    with ThreadPoolExecutor(2) as pool:
        smi = pool.submit(ask_nvidia_smi)
        earlier = StoredSurveys(smi.result(), os.environ, measured=asked is None) if stored else None
        known = earlier.load() if earlier is not None else None
        if known is not None:
            surveys, tried = known
            devices.surveys += surveys
        else:
            imports = pool.submit(tried_imports, os.environ, time.monotonic() + time_limit)
            devices.survey(measure=asked is None)
            tried = imports.result()
    if earlier is not None and known is None and devices.is_whole:
        earlier.save(devices.surveys, tried)
    return _machine(asked, devices, smi.result(), tried)


def _machine(asked: Card | None, devices: Devices, answer: NvidiaSmi, imports: Imports) -> Machine:
    survey = devices.surveys[0] if devices.surveys else None
    here = _with_driver(survey.accelerator if survey else UNKNOWN, answer)
    judged = asked or _stand_in(here, answer)
    versions = survey.versions if survey else versions_examined(devices.deadline)
    setting = _setting(survey, devices.refusals)
    measured = Deliveries(
        machine=here.name,
        products=tuple(product for each in devices.surveys for product in each.products),
        configured=setting,
        jaxlib=versions["jaxlib"],
    )
    deliveries = measured
    if judged is not None:
        deliveries = deliveries_of_card(
            judged,
            versions["jaxlib"] or "",
            xla_flags=devices.taken_flags,
            tf32_override=os.environ.get(OVERRIDE_VARIABLE),
            settings=dict.fromkeys([*SETTINGS, setting]),
            configured=setting,
        )
    environment = _environment(devices, here=here, versions=versions, answer=answer)
    if judged is not None:
        environment = dataclasses.replace(
            environment,
            accelerator=_accelerator(judged),
            here=here,
            assumed=_assumption(asked, judged, here),
            elsewhere=asked is not None and card_of_device_kind(here.name) is not asked,
        )
    trouble = [Skipped(subject="nvidia-smi", reason=answer.trouble)] if answer.trouble else []
    return Machine(
        environment=environment,
        software=Software(
            versions=versions,
            unimportable=imports.unimportable,
            missing_files=imports.missing_files,
            warp_pinned=imports.warp_pinned,
        ),
        deliveries=deliveries,
        measured=measured if measured.products else None,
        variables=devices.variables,
        skipped=(*devices.skipped, *trouble, *imports.skipped),
    )


def _setting(survey: Survey | None, refusals: Refusals) -> str:
    if survey is None:
        refused = PRECISION_VARIABLE in refusals.settings
        return level_of(None if refused else os.environ.get(PRECISION_VARIABLE))
    return X64 if survey.x64 else level_of(survey.matmul_precision)


def _stand_in(here: Accelerator, answer: NvidiaSmi) -> Card | None:
    """What is judged when JAX has no accelerator here; None when it has one."""
    if here.platform not in {"cpu", UNKNOWN.platform}:
        return None
    listed = [card for gpu in answer.gpus if (card := card_of_device_kind(gpu.name))]
    return listed[0] if listed else ANY_TF32


def _assumption(asked: Card | None, judged: Card, here: Accelerator) -> str:
    if asked is not None:
        return f"judging for {judged.name} (--card); running on {here.name}"
    if here is UNKNOWN:
        return f"JAX does not start here; judging for {judged.name}"
    if judged is ANY_TF32:
        return f"no accelerator here; judging for {judged.name} (name yours: --card rtx-4090)"
    return f"JAX computes on the CPU; judging for the {judged.name} that nvidia-smi lists"


def _environment(
    devices: Devices, *, here: Accelerator, versions: Mapping[str, str | None], answer: NvidiaSmi
) -> Environment:
    survey = devices.surveys[0] if devices.surveys else None
    on_cpu = here.platform == "cpu"
    return Environment(
        accelerator=here,
        idle_gpus=tuple(gpu.name for gpu in answer.gpus) if on_cpu else (),
        cpu_cores=usable_cores(),
        cpu_threads=pool_threads(os.environ),
        platform=f"{platform.system()}-{platform.machine()}",
        versions=versions,
        settings={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith("JAX_") or name in {OVERRIDE_VARIABLE, WARP_VARIABLE}
        },
        refused_settings=devices.refusals.settings,
        unread_settings=_unread(survey.options) if survey else {},
        xla_flags=devices.taken_flags,
        unknown_xla_flags=tuple(text.lstrip("-") for text in devices.refusals.unknown_flags),
        refused_xla_flags={
            text.lstrip("-"): reason for text, reason in devices.refusals.refused_flags.items()
        },
        unread_xla_flags=devices.flags.unread,
        x64=survey.x64 if survey else False,
        examined=examined(os.environ),
    )


def _unread(options: Sequence[str]) -> dict[str, str]:
    known = [option.upper() for option in options]
    unread = {}
    for name in sorted(os.environ):
        if name.upper().startswith("JAX_") and name not in {*known, *READ_WITHOUT_BEING_OPTIONS}:
            near = _nearest(name.upper(), known)
            if near is not None:
                unread[name] = near
    return unread


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """The option that a variable of that name was meant for, by its telling word or by its letters."""
    for word, option in MEANT.items():
        if word in name and option in known:
            return option
    near = difflib.get_close_matches(name, known, n=1, cutoff=NEAR)
    return near[0] if near else None


def _with_driver(found: Accelerator, answer: NvidiaSmi) -> Accelerator:
    """The same with what nvidia-smi knows of it."""
    if found.platform != "gpu":
        return found
    for gpu in answer.gpus:
        if gpu.name == found.name:
            memory = gpu.memory_bytes or found.memory_bytes
            return dataclasses.replace(found, driver=gpu.driver, memory_bytes=memory, ecc=gpu.ecc)
    return dataclasses.replace(found, driver=kernel_driver())


def _accelerator(card: Card) -> Accelerator:
    return Accelerator(
        name=card.name,
        platform=card.platform,
        card=None if card is ANY_TF32 else card.name,
        compute_capability=None if card is ANY_TF32 else card.compute_capability,
        market=None if card is ANY_TF32 else card.market,
        memory_bytes=None if card.memory_gib is None else int(card.memory_gib * 2**30),
        fp64_ratio=card.fp64_ratio,
        tf32=card.tf32,
        bf16=card.bf16,
    )
