"""What all tests share."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Keep what was imported out of garbage collections: TileLang and torch are a million objects.

    A tenth of the time of a test that lowers a kernel goes into them otherwise.
    """
    gc.collect()
    gc.freeze()
