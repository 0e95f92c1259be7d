"""From classes with modifiers to a tree of instances."""
