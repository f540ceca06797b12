"""What every test shares."""

import os

from hypothesis import settings

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("jaxdoctor", deadline=None)
settings.load_profile("jaxdoctor")

# pytest-xdist tells its processes the width of its terminal: a test that needs one says it.
os.environ.pop("COLUMNS", None)
