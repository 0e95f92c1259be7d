"""FMUs: archives, descriptions, the host that runs them, models made of them."""
