"""A certificate explained on one page, for the data-protection officer."""
