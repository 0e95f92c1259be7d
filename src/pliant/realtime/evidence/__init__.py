"""What was checked about a pattern and its step: stability, coverage, accuracy, proposals."""
