"""The one question asked of most files, in a module that imports next to nothing."""

from __future__ import annotations

#: A file without one of these names holds no reducer operation.
OPERATIONS = (b"alloc_reducer", b"finalize_reducer", b"reducer_init", b"reducer_update")
#: The most bytes a name can reach beyond the end of a chunk.
LONGEST = max(map(len, OPERATIONS))


def names_reducer(raw: bytes) -> bool:
    """Whether the bytes name a reducer operation: a byte search, nothing is parsed."""
    return b"reducer" in raw and any(name in raw for name in OPERATIONS)
