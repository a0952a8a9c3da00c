"""The web app: a steward releases a log without writing code, an analyst asks for a release.

The process that answers requests never reads a log. Whatever reads one runs as a job in a process
of its own (`work/`), with limits on memory and time; what it finds is kept in a private folder.
Booking, drawing, checking and advice are the library's: nothing here decides what is private.
"""
