"""JD35x: the optimizer's state, running statistics, adapters, and layers that hold one array."""
