"""Names: where they are looked up, and what is predefined."""
