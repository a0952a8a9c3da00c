"""The work of jobs, each in a process of its own: the only place in the web app that reads logs."""
