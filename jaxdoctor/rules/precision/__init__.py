"""JD20x and others: what a rollout requires, what the card delivers, and how the physics went."""
