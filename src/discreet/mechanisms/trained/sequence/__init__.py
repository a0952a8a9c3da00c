"""sequence: an autoregressive model of cases, activity by activity."""

from discreet.mechanisms.trained.sequence.mechanism import Sequence

__all__ = ["Sequence"]
