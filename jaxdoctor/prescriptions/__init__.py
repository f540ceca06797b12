"""What is to be set: asked for by findings, merged, and written in six forms."""
