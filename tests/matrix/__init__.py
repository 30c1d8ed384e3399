"""The runtime's tests on every tested TileLang release: ``python -m tests.matrix``."""
