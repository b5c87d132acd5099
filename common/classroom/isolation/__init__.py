"""Sandboxes for programs that nobody trusts, and the GPUs that one may see."""
