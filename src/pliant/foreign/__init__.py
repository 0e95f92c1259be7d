"""C code that Modelica libraries bring along: found, compiled from the user's files, loaded and called."""
