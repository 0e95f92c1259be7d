"""The stages of a plan, one file each, functions from data to data; build.py calls them in order."""
