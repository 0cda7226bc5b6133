"""PLINK files, filters, and products with packed genotypes."""
