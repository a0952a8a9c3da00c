"""What jobs do, each in a process of its own: the only place of the web app that reads logs."""
