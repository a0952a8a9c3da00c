"""Advice for the holder of a log: which budget and which mechanism suit it."""
