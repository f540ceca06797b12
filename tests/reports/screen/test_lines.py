"""Sentences that fit a terminal, and colours that can be read on it."""

import io
import re

import pytest
from rich.color import Color
from rich.console import Console
from rich.style import Style

from jaxdoctor.reports.screen import lines

BLACK, WHITE = (0, 0, 0), (255, 255, 255)
LEAST = 4.5
"""WCAG 2.2, success criterion 1.4.3: contrast of text."""


def luminance(rgb):
    """The relative luminance of an sRGB colour, from 0 to 1 (WCAG 2.2)."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["RED", "GREEN", "BLUE", "MAGENTA", "GREY"])
@pytest.mark.parametrize("ground", [BLACK, WHITE])
def test_a_colour_can_be_read_on_black_and_on_white(name, ground):
    assert contrast(Color.parse(getattr(lines, name)).get_truecolor(), ground) >= LEAST


@pytest.mark.parametrize("style", [*lines.STYLES.values(), *lines.VERDICT_STYLES.values()])
def test_a_severity_and_a_verdict_bring_their_own_background(style):
    parsed = Style.parse(style)

    assert contrast(parsed.color.get_truecolor(), parsed.bgcolor.get_truecolor()) >= LEAST


def said(words, width, **options):
    out = io.StringIO()
    lines.say(Console(file=out, width=width, **options), words, indent=4)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_sentence_is_broken_between_words_and_hangs(width):
    words = " ".join(f"word{index}" for index in range(60))

    first, *rest = said(words, width)

    assert re.match("    word0 ", first)
    assert all(re.match("        word", line) for line in rest)
    assert max(map(len, [first, *rest])) <= width
    assert " ".join(line.strip() for line in [first, *rest]) == words


def test_a_log_of_unknown_width_keeps_a_sentence_in_one_line():
    assert len(said("word " * 100, 80, soft_wrap=True)) == 1
