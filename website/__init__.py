"""What turns docs/ into a site: links, mathematics and the reference."""
