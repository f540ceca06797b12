"""Words that every sentence needs: text made harmless, numbers with their nouns, long text cut."""

from __future__ import annotations

import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that steer a terminal, hide text or turn its direction."""


def clean(value: object) -> str:
    r"""The text without anything that a terminal would obey: control characters read as `\x1b`."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(_escaped(letter) if unicodedata.category(letter) in HIDDEN else letter for letter in text)


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 (a byte of a file name that is no UTF-8: PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def shortened(text: str, width: int) -> str:
    """The text cut in its middle: both ends of a path tell more than its beginning."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def cut_left(text: str, width: int) -> str:
    """The text without its beginning: names of one run differ at their ends."""
    return text if len(text) <= width else f"…{text[len(text) - max(width - 1, 1) :]}"


def agreed(number: int, one: str = "is", many: str = "are") -> str:
    """The form of a verb that agrees with a number: "1 of 3 values is", "2 of 3 values are"."""
    return one if number == 1 else many


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 finding", "2 findings"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
