"""Several prescriptions as one. What two of them want differently is said and not set."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.prescription import Means, Prescription, Setting

Sourced = tuple[str, Prescription]
"""Where a prescription is from, and what it says."""


def merged(prescriptions: Sequence[Sourced]) -> Prescription:
    """The union, each setting with all its reasons and prices."""
    wanted: dict[tuple[Means, str], list[tuple[str, Setting]]] = {}
    for source, prescription in prescriptions:
        for setting in prescription.settings:
            wanted.setdefault((setting.means, setting.key), []).append((source, setting))
    settings, conflicts = [], []
    for wishes in wanted.values():
        if len({setting.value for _, setting in wishes}) == 1:
            settings.append(_joined([setting for _, setting in wishes]))
        else:
            conflicts.append(_conflict(wishes))
    stated = [conflict for _, prescription in prescriptions for conflict in prescription.conflicts]
    removals = [removal for _, prescription in prescriptions for removal in prescription.removals]
    instead = [sentence for _, prescription in prescriptions for sentence in prescription.instead]
    reach = [sentence for _, prescription in prescriptions for sentence in prescription.reach]
    return Prescription(
        settings=tuple(settings),
        reach=tuple(dict.fromkeys(reach)),
        instead=tuple(dict.fromkeys(instead)),
        conflicts=tuple(dict.fromkeys([*stated, *conflicts])),
        removals=tuple(dict.fromkeys(removals)),
        unjudged=tuple(
            dict.fromkeys(sentence for _, prescription in prescriptions for sentence in prescription.unjudged)
        ),
    )


def _joined(settings: Sequence[Setting]) -> Setting:
    first = settings[0]
    prices = dict.fromkeys(setting.price for setting in settings if setting.price)
    return Setting(
        means=first.means,
        key=first.key,
        value=first.value,
        because=tuple(dict.fromkeys(code for setting in settings for code in setting.because)),
        reason="; ".join(dict.fromkeys(setting.reason for setting in settings)),
        price="; ".join(prices) or None,
        this_machine=all(setting.this_machine for setting in settings),
    )


def _conflict(wishes: Sequence[tuple[str, Setting]]) -> str:
    sides = [
        f"{source} wants {setting.word!r}" + (f" ({', '.join(setting.because)})" if setting.because else "")
        for source, setting in wishes
    ]
    return f"{wishes[0][1].key}: {', '.join(dict.fromkeys(sides))}"
