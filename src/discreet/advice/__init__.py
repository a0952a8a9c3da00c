"""Advice for whoever holds a log: which budget and which mechanism suit it."""
