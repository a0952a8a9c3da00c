"""Releasing: what is asked for, as a value, and the one way in which it is carried out."""
