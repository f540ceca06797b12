"""A failure in one file: the model, the last steps before it and all that is needed to see it again."""
