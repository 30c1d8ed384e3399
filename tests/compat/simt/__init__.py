"""Tests of the SIMT interpreter, on whatever TileLang release is installed."""
