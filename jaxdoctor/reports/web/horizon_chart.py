"""Steps until each precision's replay parts from x64, beside those after which chaos alone parts it."""

from __future__ import annotations

import math

from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import shortened
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports.web.chart import BOTTOM, RIGHT, WIDTH, chart, label, upright
from jaxdoctor.reports.web.markup import Markup, tag
from jaxdoctor.reports.wording import steps, worth_showing

ROW, TOP, START, END = 28, 10, 112, 46
MOST_TICKS = 5.5


def horizon_chart(outcome: Outcome) -> Markup:
    """A bar for each precision, and a tick on it for chaos."""
    trials = [trial for trial in worth_showing(outcome) if _measured(trial)]
    if not trials:
        return Markup()
    most = max(trial.steps for trial in trials)
    height = TOP + ROW * len(trials) + BOTTOM
    drawn = [upright(_x(value, most), TOP, height - BOTTOM, "grid") for value in _ticks(most)]
    drawn += [label(_x(value, most), height - BOTTOM + 18, f"{value:g}", "middle") for value in _ticks(most)]
    drawn += [_bar(trial, TOP + ROW * index, most) for index, trial in enumerate(trials)]
    drawn.append(label(WIDTH - RIGHT, height - BOTTOM + 18, "steps", "end", "name"))
    return chart(drawn, height, f"Horizons of {outcome.subject} beside chaos")


def _measured(trial: Trial) -> bool:
    return (trial.horizon, trial.shadow_horizon, trial.one_step_error) != (None, None, None)


def _x(value: float, most: int) -> float:
    return START + (WIDTH - START - RIGHT - END) * value / most


def _ticks(most: int) -> list[float]:
    scale = 10 ** math.floor(math.log10(max(most, 1)))
    units = (scale / 5, scale / 2, scale, 2 * scale)
    unit = next(unit for unit in units if most / unit <= MOST_TICKS)
    return [unit * index for index in range(int(most / unit) + 1)]


def _bar(trial: Trial, top: float, most: int) -> Markup:
    reach, chaos = trial.steps if trial.horizon is None else trial.horizon, trial.shadow_horizon
    words = steps(trial.horizon, trial.steps)
    stated = f"{trial.precision.name}, {trial.kind}: {words} steps; chaos alone {steps(chaos, trial.steps)}"
    middle = top + ROW / 2 + 4
    width = max(_x(reach, most) - START, 2)
    return tag(
        "g",
        tag("title", stated),
        label(START - 8, middle, shortened(trial.precision.name, 16), "end"),
        tag("rect", x=START, y=top + 6, width=f"{width:.1f}", height=ROW - 12, rx=3),
        upright(_x(chaos, most), top + 2, top + ROW - 2, "chaos") if chaos is not None else "",
        label(_x(max(reach, chaos or 0), most) + 7, middle, words, "start"),
        class_=f"horizon {'bad' if trial.failed else 'good'}",
    )
