"""JD20x: what a rollout requires and what the card delivers."""
