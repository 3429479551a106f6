"""What names stand for: what modules, machines and systems declare, scopes, states."""
