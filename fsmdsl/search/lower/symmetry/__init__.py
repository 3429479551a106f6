"""Members of symmetric sets that are not told apart."""
