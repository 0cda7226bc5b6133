"""Text files: as lines, what their cells say, and how a table in them is laid out."""
