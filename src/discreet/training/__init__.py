"""Training by differentially private gradient descent; modules here load torch only when used."""
