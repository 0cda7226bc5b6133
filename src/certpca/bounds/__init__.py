"""What finds evidence for upper bounds; nothing here is believed before the checker has seen it."""
