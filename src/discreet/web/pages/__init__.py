"""The pages: forms come in, the parts of the house do the work, templates show it."""
