"""What machines do: handle, answer, crash, send."""
