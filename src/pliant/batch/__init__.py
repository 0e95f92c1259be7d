"""Many runs of one model: cases, designs, where they run, what is kept of them."""
