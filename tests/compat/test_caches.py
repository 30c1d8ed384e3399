"""No cache of TileLang's serves a reducer kernel that another lowering compiled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang.autotuner import AutoTuner
from tilelang.cache import _dispatch_map
from tilelang.cache.kernel_cache import KernelCache

import reducer_compat
from reducer_compat import cache
from tests.compat.front_ends import ROWS, eager, lazy, row_sum, scale, target, tensors
from tests.compat.lowering import source

Environment = pytest.MonkeyPatch


def without_us(environment: Environment) -> None:
    reducer_compat.uninstall()


def auto(environment: Environment) -> None:
    reducer_compat.install()


def canonical(environment: Environment) -> None:
    environment.setenv("REDUCER_COMPAT", "canonical")
    reducer_compat.install()


def wide(environment: Environment) -> None:
    environment.setenv("REDUCER_COMPAT_PLAN", "wide")
    reducer_compat.install()


def another_version(environment: Environment) -> None:
    environment.setattr(cache, "version", lambda: "0.0.1+abc")
    reducer_compat.install()


#: Ways to be compiled, each with what it takes to get there from the one before.
STATES = (without_us, auto, canonical, wide, another_version)


def forget_memory() -> None:
    """What a new process has: the disk alone."""
    for one in _dispatch_map.values():
        one._memory_cache.clear()


def compiled(build: Callable[[], Any]) -> str:
    """The device source of the kernel that `tilelang.compile` hands out."""
    kernel = tilelang.compile(build(), out_idx=[1], target=target())
    return str(kernel.get_kernel_source())


def test_a_reducer_kernel_is_compiled_once_in_every_state(
    environment: Environment, nvcc: list[str]
) -> None:
    first = []
    for enter in STATES:
        enter(environment)
        first.append(compiled(row_sum))
        assert compiled(row_sum) == first[-1]
    assert len(nvcc) == len(STATES)
    assert first[0] not in first[1:]


def test_the_disk_serves_every_state_its_own_kernel(
    environment: Environment, nvcc: list[str]
) -> None:
    states = (without_us, auto, wide)
    for again in (False, True):
        found = []
        for enter in states:
            with pytest.MonkeyPatch.context() as inner:
                enter(inner)
                found.append(compiled(row_sum))
            forget_memory()
        assert len(nvcc) == len(states)
        assert again or found == nvcc
    assert sorted(found) == sorted(nvcc)


@pytest.mark.parametrize("from_disk", [False, True], ids=["memory", "disk"])
def test_a_kernel_without_reducers_is_compiled_once_for_all(
    environment: Environment, nvcc: list[str], from_disk: bool
) -> None:
    found = set()
    for enter in STATES:
        enter(environment)
        found.add(compiled(scale))
        if from_disk:
            forget_memory()
    assert len(nvcc) == len(found) == 1


def key(func: Any) -> str:
    """The key of a kernel in TileLang's kernel cache."""
    given = {
        "func": func,
        "out_idx": [1],
        "execution_backend": "tvm_ffi",
        "target": "cuda",
        "target_host": None,
        "pass_configs": None,
        "compile_flags": None,
        "args": (),
    }
    names = inspect.signature(inspect.unwrap(KernelCache._generate_key)).parameters
    chosen = {name: given[name] for name in names if name in given}
    return str(KernelCache()._generate_key(**chosen))


def test_a_kernel_without_reducers_keeps_its_key_and_its_code(environment: Environment) -> None:
    keys, sources = set(), set()
    for enter in STATES:
        enter(environment)
        func = scale()
        keys.add(key(func))
        sources.add(source(func))
    assert len(keys) == len(sources) == 1


def test_every_state_has_a_key_of_its_own(environment: Environment) -> None:
    func, keys = row_sum(), set()
    for enter in STATES[1:]:
        enter(environment)
        keys.add(key(func))
    assert len(keys) == len(STATES) - 1


def test_the_version_changes_with_the_sources_of_the_runtime() -> None:
    number, _, digest = cache.version().partition("+")
    assert number == reducer_compat.__version__
    assert len(digest) == 16


@pytest.mark.parametrize("again", [lazy, eager], ids=["lazy", "eager"])
def test_a_jit_object_compiles_again_in_every_state(
    environment: Environment, nvcc: list[str], again: Callable[[], Any]
) -> None:
    """Also through `compile` and `get_tir`, which look up only what was traced."""
    make = again()
    arguments = (ROWS,) if again is lazy else tensors()
    found = []
    for enter in (without_us, auto, wide, without_us):
        with pytest.MonkeyPatch.context() as inner:
            enter(inner)
            found.append(make.compile(*arguments).get_kernel_source())
            assert make.compile(*arguments).get_kernel_source() == found[-1]
    assert found[0] == found[3]
    assert len(set(found)) == len(nvcc) == 3


def test_a_called_jit_object_compiles_again_in_every_state(
    environment: Environment, nvcc: list[str]
) -> None:
    make = lazy()
    kernels = []
    for enter in (without_us, auto, canonical, without_us):
        enter(environment)
        kernels.append(make(ROWS))
        assert make(ROWS) is kernels[-1]
    assert len(nvcc) == 3
    assert kernels[0].get_kernel_source() == kernels[3].get_kernel_source()


def test_a_called_jit_object_without_reducers_is_compiled_once(
    environment: Environment, nvcc: list[str]
) -> None:
    """Found again by its source text (0.1.11), or by its key."""
    make = scaling()
    for enter in STATES:
        enter(environment)
        make(64)
        scaling()(64)
    assert len(nvcc) == 1


def test_what_was_compiled_while_the_mode_changed_is_not_kept(
    environment: Environment, nvcc: list[str]
) -> None:
    make = lazy()
    real = type(make).compile

    def late(self: Any, *args: Any, **kwargs: Any) -> Any:
        kernel = real(self, *args, **kwargs)
        environment.setenv("REDUCER_COMPAT_PLAN", "wide")
        return kernel

    with pytest.MonkeyPatch.context() as inner:
        inner.setattr(type(make), "compile", late)
        narrow = make(ROWS)
    assert make(ROWS) is not narrow
    assert len(nvcc) == 2


# -- the autotuner --------------------------------------------------------------------------------


@T.macro
def summed(acc, A):
    T.clear(acc)
    for i, j in T.Parallel(8, 32):
        acc[i] += A[i, j]
    T.finalize_reducer(acc)


@T.macro
def allocated():
    return T.alloc_reducer((8,), "float32", op="sum", replication="all")


def plain_helper(block):
    return block * 2


HELPERS = ModuleType("helpers")
HELPERS.row_sum = row_sum  # type: ignore[attr-defined]
HELPERS.scale = scale  # type: ignore[attr-defined]
BUILDERS = {"sum": row_sum}


class Kernels:
    @staticmethod
    def first(block):
        return HELPERS.row_sum()


def in_itself(block=1):
    return T.alloc_reducer((8,), "float32")


def in_a_function(block=1):
    return row_sum()


def in_a_module(block=1):
    return HELPERS.row_sum()


def in_a_container(block=1):
    return BUILDERS["sum"]()


def in_a_class(block=1):
    return Kernels.first(block)


def in_a_macro(block=1):
    acc = allocated()
    return summed(acc, None)


def in_a_decorated_function(block=1):
    return decorated()


def in_a_string(block=1):
    return getattr(T, "alloc_reducer")((8,), "float32")  # noqa: B009


@functools.wraps(row_sum)
def decorated() -> Any:
    return None


def without_any(block=1):
    """Mentions alloc_reducer in its text alone."""
    T.clear(None)  # which the runtime replaces: alloc_reducer
    return HELPERS.scale(), plain_helper(block)


def tuner_key(function: Callable[..., Any]) -> str:
    tuner = AutoTuner.from_kernel(function, configs=[{"block": 1}])
    tuner.set_compile_args(out_idx=[1], target=target())
    return str(tuner.generate_cache_key(inspect.signature(function).parameters, {}))


@pytest.mark.parametrize(
    "function",
    [
        in_itself,
        in_a_function,
        in_a_module,
        in_a_container,
        in_a_class,
        in_a_macro,
        in_a_decorated_function,
        in_a_string,
    ],
)
def test_the_autotuner_keeps_states_apart_wherever_the_reducer_is(
    environment: Environment, function: Callable[..., Any]
) -> None:
    keys = set()
    for enter in STATES:
        enter(environment)
        keys.add(tuner_key(function))
    assert len(keys) == len(STATES)


def test_the_autotuner_keeps_its_key_without_reducers(environment: Environment) -> None:
    keys = set()
    for enter in STATES:
        enter(environment)
        keys.add(tuner_key(without_any))
    assert len(keys) == 1


def tuned(maker: Callable[[], Any]) -> Any:
    return tilelang.autotune(configs=[{"threads": 64}, {"threads": 128}])(maker())


def summing() -> Any:
    @tilelang.jit(out_idx=[1], target=target())
    def make(threads=64):
        @T.prim_func
        def kernel(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=threads):
                acc = T.alloc_reducer((8,), "float32", op="sum", replication="all")
                T.clear(acc)
                for i, j in T.Parallel(8, 32):
                    acc[i] += A[i, j]
                T.finalize_reducer(acc)
                T.copy(acc, B)

        return kernel

    return make


def scaling() -> Any:
    @tilelang.jit(out_idx=[1], target=target())
    def make(threads=64):
        @T.prim_func
        def kernel(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=threads):
                for i in T.Parallel(8):
                    B[i] = A[i, 0] * 2

        return kernel

    return make


@pytest.fixture
def clock(environment: Environment, tmp_path: Path) -> None:
    """Times without a GPU: every kernel takes as many milliseconds as its source is long."""
    from tilelang.jit.kernel import JITKernel

    class Profiler:
        def __init__(self, kernel: Any) -> None:
            self._kernel = kernel

        def do_bench(self, *args: Any, **kwargs: Any) -> float:
            return float(len(self._kernel.get_kernel_source()))

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: []

    environment.setattr(JITKernel, "get_profiler", lambda self, *args, **kwargs: Profiler(self))
    environment.chdir(tmp_path)


@pytest.mark.parametrize("maker", [summing, scaling])
def test_the_autotuner_tunes_a_reducer_kernel_in_every_state(
    environment: Environment, nvcc: list[str], clock: None, maker: Callable[[], Any]
) -> None:
    """From its own cache in memory and on disk; a kernel without reducers is tuned once."""
    states, found = (without_us, auto, wide), []
    for again in (False, True):
        found.clear()
        for enter in states:
            with pytest.MonkeyPatch.context() as inner:
                enter(inner)
                found.append(tuned(maker)().get_kernel_source())
            if again:
                forget_memory()
                AutoTuner._memory_cache.clear()
    wanted = len(states) if maker is summing else 1
    assert len(set(found)) == wanted
    assert len(nvcc) == 2 * wanted


def test_an_autotune_object_tunes_again_in_every_state(
    environment: Environment, nvcc: list[str], clock: None
) -> None:
    make, found = tuned(summing), []
    for enter in (without_us, auto, without_us):
        with pytest.MonkeyPatch.context() as inner:
            enter(inner)
            found.append(make())
            assert make() is found[-1]
    sources = [kernel.get_kernel_source() for kernel in found]
    assert sources[0] == sources[2] != sources[1]
