"""DPIM: a process tree by the differentially private Inductive Miner."""

from discreet.mechanisms.dpim.mechanism import DPIM

__all__ = ["DPIM"]
