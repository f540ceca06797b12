"""jaxdoctor.yaml, or [tool.jaxdoctor] in pyproject.toml: found, checked with lines, and made a value."""
