"""WHAT: posteriors as values, in parts and as PyMC models."""
