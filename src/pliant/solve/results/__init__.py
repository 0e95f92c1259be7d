"""What a simulation gives back: Result, its files, its pictures."""
