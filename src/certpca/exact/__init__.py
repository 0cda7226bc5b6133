"""A second checker, in whole numbers: one file that runs alone and shares no code with the rest of certpca."""
