"""Expressions: build, differentiate, evaluate, print."""
