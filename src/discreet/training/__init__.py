"""Trained models: runs that can be interrupted, their checkpoints, and the files they leave."""
