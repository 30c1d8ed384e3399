"""Kernels that TileLang lowers rightly give what numpy gives."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tilelang.language as T

from reducer_compat import simt
from tests.compat.share import dealt

from . import kernels as k

RNG = np.random.default_rng(7)


def floats(*shape: int, dtype: str = "float32") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(("m", "n", "threads"), [(16, 128, 128), (64, 32, 256), (1, 1024, 256)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_row_sums(m: int, n: int, threads: int, dtype: str) -> None:
    a = floats(m, n, dtype=dtype)
    bound = 1e-5 if dtype == "float32" else 0.2
    got = simt.run(k.rows("sum", m, n, dtype, threads), a)
    np.testing.assert_allclose(got.astype(float), a.astype(float).sum(1), atol=bound)


@pytest.mark.parametrize(
    ("op", "reference"),
    [
        ("max", lambda a: a.max(1)),
        ("min", lambda a: a.min(1)),
        ("absmax", lambda a: abs(a).max(1)),
    ],
)
def test_row_extremes_are_exact(op: str, reference: Any) -> None:
    a = floats(8, 128)
    np.testing.assert_array_equal(simt.run(k.rows(op, 8, 128, "float32"), a), reference(a))


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_row_bit_reductions(op: str) -> None:
    a = RNG.integers(0, 1 << 30, (8, 128)).astype("int32")
    got = simt.run(k.rows(f"bit{op}", 8, 128, "int32"), a)
    np.testing.assert_array_equal(got, getattr(np, f"bitwise_{op}").reduce(a, axis=1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_scans(dim: int, reverse: bool) -> None:
    a = RNG.integers(-9, 9, (16, 128)).astype("float32")
    want = np.flip(np.cumsum(np.flip(a, dim), dim), dim) if reverse else np.cumsum(a, dim)
    np.testing.assert_array_equal(simt.run(k.scan(dim, reverse), a), want)


def test_softmax() -> None:
    a = floats(8, 256, dtype="float16")
    e = np.exp(a.astype(float))
    got = simt.run(k.softmax(8, 256), a).astype(float)
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), atol=2e-5)


def test_atomics_of_all_blocks_and_threads() -> None:
    a = RNG.integers(-50, 50, 1024).astype("float32")
    total, top, low = np.zeros(4, "float32"), np.full(4, -99, "float32"), np.full(4, 99, "float32")
    count = np.zeros(1, "int32")
    assert simt.run(k.atomics(), a, total, top, low, count, out_idx=None) is None
    np.testing.assert_array_equal(total, a.reshape(-1, 4).sum(0))
    np.testing.assert_array_equal(top, a.reshape(4, -1).max(1))
    np.testing.assert_array_equal(low, a.reshape(4, -1).min(1))
    assert count.tolist() == [512]


def test_vector_atomics_round_at_each_step() -> None:
    a, b = floats(256, dtype="float16"), np.ones(256, "float16")
    want = (np.ones(256, "float16") + a) + a
    simt.run(k.atomic_pairs(), a, b, out_idx=None)
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize("n", [1, 100, 128, 1000])
def test_symbolic_sizes_come_from_the_arrays(n: int) -> None:
    a = floats(n)
    size = T.dynamic("n") if hasattr(T, "dynamic") else T.symbolic("n")
    np.testing.assert_array_equal(simt.run(k.doubled(size), a), 2 * a)


def test_tiles_that_do_not_divide() -> None:
    a = floats(100, 70)
    np.testing.assert_array_equal(simt.run(k.copied(100, 70), a), a)


def test_persistent_blocks() -> None:
    a = floats(16, 128)
    np.testing.assert_allclose(simt.run(k.persistent(), a), a.sum(1), atol=1e-5)


def test_threads_that_returned_are_not_waited_for() -> None:
    a = floats(64)
    np.testing.assert_array_equal(simt.run(k.early_return(), a), a[31::-1])


def test_while_loops_diverge() -> None:
    a = RNG.integers(1, 1 << 20, 64).astype("int32")
    np.testing.assert_array_equal(simt.run(k.logarithm(), a), np.log2(a).astype("int32"))


def test_loops_of_another_length_in_each_thread() -> None:
    a = RNG.integers(-9, 9, 64).astype("int32")
    want = np.concatenate([[0], np.cumsum(a)[:-1]])
    np.testing.assert_array_equal(simt.run(k.triangle(), a), want)


def test_breaks() -> None:
    a = np.arange(64, dtype="int32")
    np.testing.assert_array_equal(simt.run(k.broken_off(), a), a)


@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_gemv(target: str) -> None:
    a, x = floats(64, 512, dtype="float16"), floats(512, dtype="float16")
    got = simt.run(k.gemv(64, 512), a, x, target=target).astype(float)
    np.testing.assert_allclose(got, a.astype(float) @ x.astype(float), rtol=1e-3, atol=0.02)


INTEGERS: list[tuple[str, Any, Any]] = [
    ("truncdiv", lambda a, c: T.truncdiv(a, c), lambda a, c: np.trunc(a / c)),
    ("truncmod", lambda a, c: T.truncmod(a, c), lambda a, c: np.fmod(a, c)),
    ("floordiv", lambda a, c: T.floordiv(a, c), lambda a, c: a // c),
    ("floormod", lambda a, c: T.floormod(a, c), lambda a, c: a % c),
    ("xor", lambda a, c: T.bitwise_xor(a, c), lambda a, c: a ^ c),
    ("shift", lambda a, c: T.shift_left(a, c & 7), lambda a, c: a << (c & 7)),
    ("minimum", lambda a, c: T.min(a, c), np.minimum),
    ("choice", lambda a, c: T.if_then_else(a > c, a, -c), lambda a, c: np.where(a > c, a, -c)),
    ("guarded", lambda a, c: T.if_then_else(c != 0, a // c, 0), lambda a, c: a // c),
]


@pytest.mark.parametrize(("name", "op", "reference"), INTEGERS, ids=[i[0] for i in INTEGERS])
def test_integer_arithmetic(name: str, op: Any, reference: Any) -> None:
    a = RNG.integers(-1000, 1000, 256).astype("int32")
    c = RNG.integers(1, 50, 256).astype("int32") * RNG.choice([-1, 1], 256).astype("int32")
    got = simt.run(k.elementwise(op, "int32"), a, c)
    np.testing.assert_array_equal(got, reference(a, c).astype("int32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint32"])
def test_integers_wrap_around(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = RNG.integers(info.min, info.max, 256, dtype, endpoint=True)
    c = RNG.integers(info.min, info.max, 256, dtype, endpoint=True)
    with np.errstate(over="ignore"):
        want = a * c + a
    got = simt.run(k.elementwise(lambda x, y: x * y + x, dtype), a, c)
    np.testing.assert_array_equal(got, want)


FUNCTIONS: list[tuple[str, Any, Any]] = [
    ("exp", lambda x: T.exp(x), np.exp),
    ("exp2", lambda x: T.exp2(x), np.exp2),
    ("log", lambda x: T.log(x), np.log),
    ("log2", lambda x: T.log2(x), np.log2),
    ("sqrt", lambda x: T.sqrt(x), np.sqrt),
    ("rsqrt", lambda x: T.rsqrt(x), lambda x: 1 / np.sqrt(x)),
    ("sin", lambda x: T.sin(x), np.sin),
    ("cos", lambda x: T.cos(x), np.cos),
    ("tanh", lambda x: T.tanh(x), np.tanh),
    ("floor", lambda x: T.floor(x), np.floor),
    ("ceil", lambda x: T.ceil(x), np.ceil),
    ("abs", lambda x: T.abs(x), np.abs),
    ("pow", lambda x: T.pow(x, T.float32(1.5)), lambda x: x**1.5),
    ("sigmoid", lambda x: T.sigmoid(x), lambda x: 1 / (1 + np.exp(-x))),
    ("infinity", lambda x: T.min(x, T.infinity("float32")), lambda x: x),
    ("pow_of_int", lambda x: T.call_extern("float32", "tl::pow_of_int<3>", x), lambda x: x**3),
    ("erf", lambda x: T.erf(x), np.vectorize(math.erf)),
]


@pytest.mark.parametrize(("name", "op", "reference"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions(name: str, op: Any, reference: Any) -> None:
    a = np.abs(floats(64)) + np.float32(0.1)
    got = simt.run(k.per_thread(op), a)
    np.testing.assert_allclose(got, reference(a.astype(float)), rtol=1e-6, atol=1e-6)


def test_maximum_ignores_nan_as_fmaxf_does() -> None:
    a, c = floats(256), floats(256)
    a[::3], c[1::3] = np.nan, np.nan
    got = simt.run(k.elementwise(lambda x, y: T.max(x, y), "float32"), a, c)
    np.testing.assert_array_equal(got, np.fmax(a, c))


SHUFFLES: list[tuple[str, Any, Any]] = [
    ("xor", lambda x: T.shfl_xor(x, 3), lambda t: t ^ 3),
    ("down", lambda x: T.shfl_down(x, 2), lambda t: np.where(t % 32 < 30, t + 2, t)),
    ("up", lambda x: T.shfl_up(x, 2), lambda t: np.where(t % 32 >= 2, t - 2, t)),
]


@pytest.mark.parametrize(("name", "op", "source"), SHUFFLES, ids=[s[0] for s in SHUFFLES])
def test_shuffles(name: str, op: Any, source: Any) -> None:
    a = floats(64)
    np.testing.assert_array_equal(simt.run(k.per_thread(op), a), a[source(np.arange(64))])


def test_warp_reductions() -> None:
    a = RNG.integers(-99, 99, 64).astype("float32")
    got = simt.run(k.per_thread(lambda x: T.warp_reduce_sum(x)), a)
    np.testing.assert_array_equal(got, np.repeat(a.reshape(2, 32).sum(1), 32))


@pytest.mark.parametrize(
    ("dtype", "transposed", "target"),
    dealt(("float16", "bfloat16"), (False, True), ("sm_75", "sm_80"), hands=3),
)
def test_tensor_core_products(dtype: str, transposed: bool, target: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    a = RNG.integers(-4, 4, (64, 64))
    result = simt.execute(k.product(dtype, transposed), a.astype(kind), target=target)
    np.testing.assert_array_equal(result.outputs[0], a @ (a.T if transposed else a))
    if target == "sm_80":
        assert result.report.ok, result.report


def test_blocks_run_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    a = floats(1000)
    monkeypatch.setattr("reducer_compat.simt.api.LANES_AT_ONCE", 256)
    result = simt.execute(k.doubled(1000), a)
    np.testing.assert_array_equal(result.outputs[0], 2 * a)
    assert (result.report.blocks, result.report.threads) == (8, 128)
