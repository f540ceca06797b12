"""MuJoCo models: compiled, located in their XML, and judged before a step is taken."""
