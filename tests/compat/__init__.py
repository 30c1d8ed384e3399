"""Tests of the runtime. They need TileLang; `python -m tests.matrix` runs them on every release."""
