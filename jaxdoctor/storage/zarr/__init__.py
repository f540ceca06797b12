"""Zarr arrays and the OCDBT key-value store beneath Orbax."""
