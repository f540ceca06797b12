"""JAX programs as jaxprs: authors, products, rounding. The only place that knows JAX's internals."""
