"""The verb `probe`: from a model and a card to a verdict."""
