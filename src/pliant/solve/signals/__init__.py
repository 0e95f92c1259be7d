"""Inputs as users give them: numbers, tables, files, segments, functions of time."""
