"""One step as C: statements (lower, build), text (write, text, header, monitor), runs on the desktop (run)."""
