"""What comes from outside, and what each step comes to."""
