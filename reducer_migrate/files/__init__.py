"""Which files are looked at, how they are read, and how they are replaced."""
