"""How a rollout is replayed at each precision, in worker processes."""
