"""Rules about a recorded failure that was replayed."""
