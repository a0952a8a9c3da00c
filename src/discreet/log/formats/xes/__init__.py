"""XES, the standard format of event logs."""
