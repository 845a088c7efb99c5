"""Generalisation bounds: pure functions of numbers."""
