"""The verb `check-update`: a target traced in a worker."""
