"""Event logs: reading, writing, counting. Knows nothing of privacy."""
