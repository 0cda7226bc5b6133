"""What callers receive, and the only readers and writers of it."""
