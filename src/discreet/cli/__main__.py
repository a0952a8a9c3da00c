"""Runs the command line by `python -m discreet.cli`."""

from discreet.cli import main

main()
