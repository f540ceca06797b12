"""CRC-32C, by the table: for indexes of a few kilobytes."""

from __future__ import annotations

POLYNOMIAL = 0x82F63B78
"""Castagnoli's, with its bits reversed."""


def _row(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE = [_row(byte) for byte in range(256)]


def crc32c(content: bytes) -> int:
    """The checksum that zarr's `crc32c` codec appends, and LevelDB's tables before they mask it."""
    value = 0xFFFFFFFF
    for byte in content:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF
