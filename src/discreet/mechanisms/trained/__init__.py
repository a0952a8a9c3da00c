"""Mechanisms that train a model by noisy gradient steps, and what they share.

`clipping`, `sgd`, and the networks of each mechanism load torch; the others do not, so that a
guarantee can be computed and a model's file checked without it.
"""
