"""What every test shares."""

from hypothesis import settings

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("jaxdoctor", deadline=None)
settings.load_profile("jaxdoctor")
