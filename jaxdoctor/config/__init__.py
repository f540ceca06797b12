"""jaxdoctor.yaml and [tool.jaxdoctor]: found, checked, and applied to what every command finds."""
