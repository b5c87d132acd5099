"""From results to marks, in the formats of the systems that take them."""
