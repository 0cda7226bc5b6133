"""Groups of arrays in one file: which one is the table, how AnnData lays them out, errors that name the file."""
