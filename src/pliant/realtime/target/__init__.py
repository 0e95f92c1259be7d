"""A step on the processor it is for: built by a cross compiler, run on an emulator, measured."""
