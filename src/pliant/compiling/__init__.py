"""The C compiler, the folder of what it made, and the files of the runtime."""
