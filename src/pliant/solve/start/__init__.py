"""Start values: what the runtime is asked to find, and the explanation where it finds none."""
