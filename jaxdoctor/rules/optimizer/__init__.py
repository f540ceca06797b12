"""JD35x: the optimizer's state, running statistics, adapters, and arrays that stand twice."""
