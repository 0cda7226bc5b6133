"""Examples that need no file."""
