"""HDF5 files, outlined without loading what is in them."""
