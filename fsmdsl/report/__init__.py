"""What a person, an editor or a CI reads: renderings of diagnostics and results. Nothing here finds anything out."""
