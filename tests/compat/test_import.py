"""However and however often the package is imported, TileLang is changed once, and wholly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.share import dealt

ROOT = Path(__file__).resolve().parents[2]

#: A row sum in v1 syntax; `right()` lowers it and runs it in the interpreter.
KERNEL = """
import numpy as np

def row_sum():
    import tilelang.language as T

    @T.prim_func
    def kernel(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((8,), "float32", op="sum", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(8, 32):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return kernel

def right():
    from reducer_compat import simt
    A = np.arange(256, dtype="float32").reshape(8, 32)
    return bool((simt.run(row_sum(), A) == A.sum(1)).all())

def work(turn):
    return right()
"""

TWO_THREADS = """
import threading
start, found = threading.Barrier(2), []
def work():
    start.wait()
    import reducer_compat
    found.append(reducer_compat.status().patched)
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join(120) for thread in threads]
assert len(found) == 2 and found[0] == found[1] and found[0]
assert len(set(found[0])) == len(found[0])
assert right()
"""

TWO_THREADS_BESIDE_TILELANG = """
import importlib, threading
start, found = threading.Barrier(2), []
def work(name):
    start.wait()
    found.append(importlib.import_module(name))
threads = [threading.Thread(target=work, args=(name,)) for name in ("tilelang", "reducer_compat")]
[thread.start() for thread in threads]
[thread.join(120) for thread in threads]
assert len(found) == 2
assert right()
"""

BEFORE_TILELANG = """
import reducer_compat
import tilelang, tilelang.language
assert reducer_compat.status().installed
assert right()
"""

AFTER_TILELANG = """
import tilelang, tilelang.language
held = tilelang.language.alloc_reducer
import reducer_compat
assert tilelang.language.alloc_reducer is not held
assert right()
"""

RELOADED = """
import importlib
before = reducer_compat.status().patched
again = importlib.reload(reducer_compat)
assert again is reducer_compat and again.status().patched == before
assert right()
reducer_compat.uninstall()
import tilelang.language as T
assert "reducer_compat" not in T.finalize_reducer.__module__
"""

RELOADED_IN_PARTS = """
import importlib, sys, tilelang.language as T
stock = T.finalize_reducer.__wrapped__
before = reducer_compat.status().patched
for name in ("reducer_compat.surface.language", "reducer_compat.cache", "reducer_compat.install"):
    importlib.reload(sys.modules[name])
importlib.reload(reducer_compat)
assert reducer_compat.status().patched == before
assert T.finalize_reducer.__wrapped__ is not stock, "the reloaded function is in place"
assert right()
reducer_compat.uninstall()
assert "reducer_compat" not in T.finalize_reducer.__module__
"""

IMPORTED_ANEW = """
import sys, tilelang.language as T
before = reducer_compat.status().patched
for name in [name for name in sys.modules if name.split(".")[0] == "reducer_compat"]:
    del sys.modules[name]
import reducer_compat as other
assert other is not reducer_compat
assert other.status().patched == before
assert right()
other.uninstall()
assert not other.status().installed
assert "reducer_compat" not in T.finalize_reducer.__module__
"""

FORKED = """
import os
assert right()
child = os.fork()
if not child:
    ours = reducer_compat.status().installed and right()
    reducer_compat.uninstall()
    reducer_compat.install()
    os._exit(0 if ours and right() else 1)
assert os.waitpid(child, 0)[1] == 0
assert reducer_compat.status().installed and right()
"""

FORKED_WHILE_INSTALLING = """
import os, threading, time
from reducer_compat import cache
reducer_compat.uninstall()
inside, patch = threading.Event(), cache.patch
def slow(replace):
    inside.set()
    time.sleep(1)
    patch(replace)
cache.patch = slow
thread = threading.Thread(target=reducer_compat.install)
thread.start()
inside.wait(60)
child = os.fork()
if not child:
    whole = reducer_compat.install().patched
    os._exit(0 if any("_generate_key" in name for name in whole) and right() else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""

POOLED = """
import multiprocessing, reducer_compat
for method, count in (("fork", 2), ("forkserver", 1)):
    with multiprocessing.get_context(method).Pool(count) as pool:
        assert pool.map(work, range(3)) == [True] * 3
"""

#: Scripts that import it first: TileLang's own import in each takes a second.
IMPORTS = {
    "two threads": TWO_THREADS,
    "two threads, one imports TileLang": TWO_THREADS_BESIDE_TILELANG,
    "before TileLang": BEFORE_TILELANG,
    "after TileLang": AFTER_TILELANG,
    "in a pool of processes": POOLED,
}
DEALT = dealt(IMPORTS, hands=2)
#: Scripts that begin where the package is imported.
IMPORTED = {
    "reloaded": RELOADED,
    "reloaded in parts": RELOADED_IN_PARTS,
    "imported anew": IMPORTED_ANEW,
    "forked": FORKED,
    "forked while installing": FORKED_WHILE_INSTALLING,
}
#: Runs scripts in a fork each, and prints how they ended: torch takes seconds to import, then
#: TileLang does.
EACH = f"""
import os, traceback
import torch

def each(scripts):
    for name, text in scripts.items():
        child = os.fork()
        if not child:
            try:
                exec(text, globals())
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        print(name, os.waitpid(child, 0)[1], sep="=", flush=True)

if __name__ == "__main__":
    each({ ({name: IMPORTS[name] for name in DEALT})!r})
    import reducer_compat
    each({IMPORTED!r})
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    path = tmp_path_factory.mktemp("imports") / "script.py"
    path.write_text(KERNEL + EACH)
    return subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=paths(),
    )


@pytest.mark.parametrize("name", DEALT, ids=str)
def test_an_import_changes_tilelang_once_and_wholly(
    name: str, ended: subprocess.CompletedProcess[str]
) -> None:
    assert f"{name}=0" in ended.stdout.splitlines(), ended.stdout + ended.stderr


@pytest.mark.parametrize("name", IMPORTED, ids=str)
def test_what_follows_an_import_leaves_tilelang_changed_once(
    name: str, ended: subprocess.CompletedProcess[str]
) -> None:
    assert f"{name}=0" in ended.stdout.splitlines(), ended.stdout + ended.stderr


def paths() -> dict[str, str]:
    held = os.environ.get("PYTHONPATH", "")
    own = [held, str(ROOT / "rules"), str(ROOT / "compat")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, own))}
