"""A simulator: a month of gangs on a cluster, by the allocator itself, in minutes."""
