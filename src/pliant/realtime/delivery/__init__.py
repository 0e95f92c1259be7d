"""What is delivered: the folder with C for a target, and how fast it runs here."""
