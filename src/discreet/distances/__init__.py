"""How far apart sequences and logs are: edit distances, optimal transport, similarity."""
