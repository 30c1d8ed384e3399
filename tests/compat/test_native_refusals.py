"""What the rules foresee of TileLang's own v2, and what it does: RM217, RM304, RM305, RM316."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import tilelang
from tilelang import tvm

from reducer_compat.adapter import adapter
from reducer_migrate.engine import Options, analyse
from reducer_migrate.source import Source
from reducer_rules import Target

needs_native = pytest.mark.skipif(
    not adapter().native_v2, reason="this TileLang has no v2 reducers"
)
KERNEL = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor(({loop},), "float32"), Y: T.Tensor(({outputs},), "{dtype}")):
    with T.Kernel(1, threads={threads}):
        acc = T.alloc_reducer(({outputs},), "{dtype}", op="{op}")
        result = T.alloc_fragment(({outputs},), "{dtype}")
        T.reducer_init(acc)
        for {names} in T.Parallel({loop}):
            T.reducer_update(acc[{index}], {value})
        T.finalize_reducer(acc, result)
        T.copy(result, Y)
"""


def _kernel(
    threads: int, loop: tuple[int, ...], index: str, dtype: str = "float32", op: str = "sum"
) -> str:
    names = "ijk"[: len(loop)]
    extents = dict(zip(names, loop, strict=True))
    element = f"A[{', '.join(names)}]"
    return KERNEL.format(
        threads=threads,
        loop=", ".join(map(str, loop)),
        names=", ".join(names),
        index=index,
        outputs=", ".join(str(extents.get(name, 8)) for name in index.split(", ")),
        dtype=dtype,
        op=op,
        value=f"{element} > 3" if dtype == "bool" else f'T.cast({element}, "{dtype}")',
    )


def _named(text: str) -> list[str]:
    options = Options(Target(adapter().release))
    return sorted({found.code for found in analyse(Source.of(text), options).diagnostics})


def _compiles(text: str, folder: Path) -> bool:
    path = folder / "kernel.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"})
    try:
        spec.loader.exec_module(module)
        with target:
            tilelang.lower(module.main, target=target)
    except Exception:
        return False
    return True


not_on_0_1_14 = pytest.mark.skipif(
    str(adapter().release) == "0.1.14", reason="0.1.14 refuses this nest, which no rule foresees"
)


@needs_native
@pytest.mark.parametrize(
    ("threads", "loop", "index", "codes"),
    [
        (80, (8, 80), "i", ["RM304"]),
        (96, (96,), "0", ["RM304"]),
        (160, (64,), "0", ["RM304"]),
        (48, (8, 64), "i", ["RM304"]),
        (192, (8, 96), "i", ["RM304"]),
        (192, (12, 16), "j", ["RM304"]),
        (96, (4, 3, 32), "i", ["RM304"]),
        (96, (3, 32), "i", []),
        (96, (96,), "i", []),
        (128, (8, 96), "i", ["RM305"]),
        (128, (24, 24), "i, j", ["RM305"]),
        (128, (4, 5, 32), "i", ["RM305"]),
        (128, (4, 3, 32), "k", ["RM305"]),
        (128, (2, 3, 50), "i", ["RM305"]),
        (128, (128, 4, 8), "i, j", ["RM316"]),
        (256, (8, 64), "i, j", ["RM316"]),
        pytest.param(64, (8, 2, 96), "j, k", [], marks=not_on_0_1_14),
        (128, (16, 48), "i, j", []),
        (256, (8, 96), "i, j", []),
        (128, (5, 4, 8), "i", []),
    ],
)
def test_what_native_v2_refuses_is_foreseen(
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
    threads: int,
    loop: tuple[int, ...],
    index: str,
    codes: list[str],
) -> None:
    environment.setenv("REDUCER_COMPAT", "native")
    text = _kernel(threads, loop, index)
    assert (_named(text), _compiles(text, tmp_path)) == (codes, not codes)


@needs_native
@pytest.mark.parametrize(
    ("dtype", "codes"), [("bool", ["RM217"]), ("int32", []), ("uint8", []), ("float32", ["RM217"])]
)
def test_bitwise_ops_are_for_integers(
    environment: pytest.MonkeyPatch, tmp_path: Path, dtype: str, codes: list[str]
) -> None:
    environment.setenv("REDUCER_COMPAT", "native")
    text = _kernel(128, (8, 64), "i", dtype, "bitor")
    assert (_named(text), _compiles(text, tmp_path)) == (codes, not codes)
