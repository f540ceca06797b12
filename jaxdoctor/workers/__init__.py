"""A function in a process of its own, and what goes between it and its parent: progress, log, results."""
