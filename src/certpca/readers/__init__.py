"""Data in files and arrays, walked over by blocks that fit a budget."""
