"""One file a way in which a policy is given."""
