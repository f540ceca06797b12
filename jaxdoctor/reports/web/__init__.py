"""The HTML report: one file with its styles, its script and its charts in it, that fetches nothing."""
