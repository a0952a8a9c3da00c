"""Engines: where cases are put in order and counted, from this process to a cluster."""
