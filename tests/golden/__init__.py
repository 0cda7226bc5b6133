"""Golden certificates: made by `python -m tests.golden.make`, shipped in `certpca/golden`, checked here."""
