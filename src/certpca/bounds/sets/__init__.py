"""Certificates for components chosen together."""
