"""CRC-32C."""

from jaxdoctor.storage.crc import crc32c


def test_the_check_value():
    """The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms."""
    assert crc32c(b"123456789") == 0xE3069283
