"""Files that users bring: a file for each format, which registers itself; `text` and `groups` are what some share."""
