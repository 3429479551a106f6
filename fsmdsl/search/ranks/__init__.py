"""A search over several processes: states have owners, and are numbered as one process would have found them."""
