"""Privacy: guarantees, exact noise, composition. Knows nothing of logs."""
