"""JD1xx: settings, versions and the machine."""
