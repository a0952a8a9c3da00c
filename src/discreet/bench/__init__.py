"""The benchmark: logs × mechanisms × budgets × repetitions, stored as they come, reported."""
