"""Where blocks are worked on: here, or by the workers of a cluster."""
