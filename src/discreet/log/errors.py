"""The one error that bad input raises."""


class LogError(ValueError):
    """A log that cannot be read, written or used: says what, where, and how to mend it."""
