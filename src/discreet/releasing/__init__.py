"""Releasing: the request as a value, and the one way in which it is carried out."""
