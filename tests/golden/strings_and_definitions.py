"""Names alloc_reducer, finalize_reducer, reducer_init and reducer_update, and uses none of them.

    acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
    T.clear(acc)
    T.finalize_reducer(acc)
"""

import re

SOURCE = '''
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for j in T.Parallel(8):
    acc[0] += 1
T.finalize_reducer(acc)
'''


def alloc_reducer(shape, dtype, op="sum", replication=None):
    """Define what `acc = T.alloc_reducer(shape, dtype, op="sum", replication="all")` does."""
    assert op in ("sum", "max", "min")
    return (shape, dtype, op, replication)


def finalize_reducer(reducer, batch=1):
    return reducer, batch


class Language:
    def alloc_reducer(self, shape, dtype, op="sum", replication=None):
        return alloc_reducer(shape, dtype, op, replication)

    def finalize_reducer(self, reducer):
        return finalize_reducer(reducer)


def check_generated(source):
    assert "alloc_reducer" not in source
    assert source.count("T.finalize_reducer(acc)") == 1
    assert re.search(r"reducer_update\(acc\[i\], (\w+)\)", source)
    assert f"{source!r}: T.alloc_reducer" != "alloc_reducer"


__all__ = ["alloc_reducer", "finalize_reducer"]
