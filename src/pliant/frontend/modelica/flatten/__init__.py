"""From a tree of instances to a FlatModel."""
