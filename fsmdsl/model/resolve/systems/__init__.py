"""Systems: instances, environments, what must hold, what is extended and refined."""
