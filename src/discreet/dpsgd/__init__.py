"""Differentially private gradient descent: clipped sums and noisy steps; loads torch."""
