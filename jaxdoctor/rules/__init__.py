"""One file a rule. JD1xx environment, JD2xx precision, JD3xx checkpoint, JD4xx run, JD5xx update."""
