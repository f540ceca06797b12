"""The verb `scan-checkpoint`: from paths to findings."""
