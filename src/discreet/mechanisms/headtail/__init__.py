"""headtail: the frequent variants as they are, a private model of the rest, and a vote on both."""

from discreet.mechanisms.headtail.mechanism import HeadTail

__all__ = ["HeadTail"]
