"""Which machine this is, and how many bits its matrix products get."""
