"""The web app: a steward releases a log without writing code, an analyst requests a release.

The process that answers requests never reads a log. Everything that reads one runs as a job in a
process of its own (`work/`), with limits on memory and time, and keeps its results in a private
folder. The library books, draws, checks and advises: nothing here decides what is private.
"""
