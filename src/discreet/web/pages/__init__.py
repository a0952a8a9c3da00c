"""The pages: they read forms, let the parts of the server do the work, and render templates."""
