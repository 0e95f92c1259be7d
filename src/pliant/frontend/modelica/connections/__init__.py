"""From connect clauses to equations."""
