"""One file a place a rollout comes from."""
