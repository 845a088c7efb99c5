"""HOW: methods as values that turn a problem into a DataTree."""
