"""Process models: trees, how they are discovered, replayed, drawn and written."""
