"""One simulation: what it is made from, its steps, its process, what is collected from it; operating points."""
