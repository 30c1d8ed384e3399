"""Rewrite TileLang v1 reducers to v2, and say what cannot be rewritten and why."""

__version__ = "0.1.0"
