"""Services that grade each submission as it comes in: what they are given, and what they expect back."""
