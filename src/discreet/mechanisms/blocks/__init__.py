"""Building blocks that several mechanisms share."""
