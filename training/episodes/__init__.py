"""Episodes of roles that talk, and the tasks built on them."""
