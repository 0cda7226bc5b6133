"""The command `certpca`."""
