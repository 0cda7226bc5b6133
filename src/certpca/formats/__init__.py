"""Files that users bring, a file for each format."""
