"""AnnData objects: what they hold goes in, and what was found goes back where scanpy looks for it."""
