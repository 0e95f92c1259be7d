"""Studies in folders: written while they run, read without their model."""
