"""What students hand in: files that nobody trusts, and the regions of a lab in them."""
