"""The verb `preflight`: everything that a configuration names."""
