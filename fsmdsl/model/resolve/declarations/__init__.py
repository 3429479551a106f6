"""What modules and machines declare, before anything's inside is resolved."""
