"""One file a rule, in the folder of its family, which is told by the first digits of the code."""
