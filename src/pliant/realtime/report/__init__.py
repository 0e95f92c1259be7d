"""One self-contained page about a plan."""
