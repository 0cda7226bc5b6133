"""Several components chosen together, so that the sum of their variances is as large as can be found."""
