"""The benchmark's rows: which kernel, at what size, under which configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tensors = tuple[Any, ...]

#: The configuration without warp specialization.
NO_WS = {"tl.disable_warp_specialized": True}
ITEMSIZE = {"float16": 2, "bfloat16": 2, "float32": 4}


@dataclass(frozen=True)
class Case:
    """One row of the benchmark.

    Attributes:
        kernel: the factory of that name in `legacy`, `shipped` and `per_tile`.
        sizes: its arguments.
        inputs: shape and dtype of each input.
        outputs: shape and dtype of each output; they are the last parameters.
        reference: the outputs from torch tensors; in float64 the reference, as given the rival.
        tolerance: largest error, relative to the largest magnitude of an output.
        warp_specialized: TileLang's default configuration on Hopper, or without.
    """

    name: str
    kernel: str
    sizes: tuple[Any, ...]
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    reference: Callable[..., Tensors]
    tolerance: float = 1e-4
    warp_specialized: bool = True

    @property
    def bytes(self) -> int:
        """Bytes of global memory that the kernel must move at least."""
        total = 0
        for shape, dtype in (*self.inputs, *self.outputs):
            count = ITEMSIZE[dtype]
            for extent in shape:
                count *= extent
            total += count
        return total

    @property
    def pass_configs(self) -> dict[str, Any]:
        return {} if self.warp_specialized else NO_WS


def _matvec(a: Any, x: Any) -> Tensors:
    return (a @ x,)


def _row_sum(a: Any) -> Tensors:
    import torch

    return (a.sum(1, dtype=torch.promote_types(a.dtype, torch.float32)),)


def _row_max(a: Any) -> Tensors:
    return (a.amax(1),)


def _softmax(a: Any) -> Tensors:
    import torch

    wide = a.to(torch.promote_types(a.dtype, torch.float32))
    peak = wide.amax(1)
    return peak, (wide - peak[:, None]).exp().sum(1)


def _rmsnorm(x: Any, w: Any) -> Tensors:
    import torch

    return (torch.nn.functional.rms_norm(x, (x.shape[1],), w, 1e-6),)


def _rmsnorm_backward(split: int) -> Callable[..., Tensors]:
    def reference(x: Any, dy: Any, rstd: Any) -> Tensors:
        wide = x.to(rstd.dtype) * dy.to(rstd.dtype) * rstd[:, None]
        return (wide.reshape(split, -1, x.shape[1]).sum(1),)

    return reference


def _absmax(x: Any) -> Tensors:
    import torch

    return (x.abs().amax(1).to(torch.promote_types(x.dtype, torch.float32)) / 127,)


def _smallest(k: int) -> Callable[..., Tensors]:
    def reference(x: Any) -> Tensors:
        return (x.topk(k, 1, largest=False, sorted=True).values,)

    return reference


def _outer(blocks: int) -> Callable[..., Tensors]:
    def reference(a: Any, b: Any) -> Tensors:
        return (a.reshape(blocks, -1, 4).mT @ b.reshape(blocks, -1, 4),)

    return reference


def _both_sums(a: Any, b: Any) -> Tensors:
    return (a.sum(1) + b.sum(1),)


def _gemv(kernel: str, bm: int, bk: int, threads: int, dtype: str, ws: bool) -> Case:
    m, k = 16384, 8192 if 8192 % bk == 0 else 8192 // bk * bk
    sixteen = kernel == "gemv_16bit"
    return Case(
        f"{kernel}_{bm}x{bk}_{dtype}{'' if ws else '_nows'}",
        kernel,
        (m, k, bm, bk, threads, dtype),
        (((m, k), dtype), ((k,), dtype)),
        (((m,), dtype if sixteen else "float32"),),
        _matvec,
        3e-2 if sixteen else 1e-4,
        ws,
    )


def _streaming() -> list[Case]:
    found = [
        _gemv(kernel, bm, bk, 128, "float16", ws)
        for kernel in ("gemv_shared", "gemv_fragment")
        for bm, bk in ((16, 128), (64, 128), (8, 96), (32, 8))
        for ws in (True, False)
    ]
    found += [_gemv("gemv_shared", 16, 128, 128, "bfloat16", ws) for ws in (True, False)]
    found += [_gemv("gemv_16bit", 16, 128, 128, "float16", ws) for ws in (True, False)]
    m, n = 16384, 8192
    for kernel, bm, bn, dtype, ws in (
        ("row_sum_global", 8, 128, "float16", True),
        ("row_sum_global", 8, 256, "float32", True),
        ("row_sum_shared", 16, 256, "float16", True),
        ("row_sum_shared", 16, 256, "float16", False),
        ("row_max_shared", 16, 256, "float16", True),
        ("row_max_shared", 16, 256, "bfloat16", False),
    ):
        is_max = kernel == "row_max_shared"
        found.append(
            Case(
                f"{kernel}_{bm}x{bn}_{dtype}{'' if ws else '_nows'}",
                kernel,
                (m, n, bm, bn, 128, dtype),
                (((m, n), dtype),),
                (((m,), dtype if is_max else "float32"),),
                _row_max if is_max else _row_sum,
                warp_specialized=ws,
            )
        )
    return found


def _rows() -> list[Case]:
    return [
        *(
            Case(
                f"softmax_statistics_{bm}x{n}",
                "softmax_statistics",
                (m, n, bm, threads, "float16"),
                (((m, n), "float16"),),
                (((m,), "float32"), ((m,), "float32")),
                _softmax,
            )
            for m, n, bm, threads in ((32768, 4096, 4, 256), (1 << 20, 128, 64, 128))
        ),
        Case(
            "rmsnorm_forward",
            "rmsnorm_forward",
            (16384, 4096, 128, "float16"),
            (((16384, 4096), "float16"), ((4096,), "float16")),
            (((16384, 4096), "float16"),),
            _rmsnorm,
            2e-3,
        ),
        *(
            Case(
                f"rmsnorm_backward{'' if ws else '_nows'}",
                "rmsnorm_backward",
                (16384, 4096, 32, 16, 256, 128, "float16"),
                (((16384, 4096), "float16"), ((16384, 4096), "float16"), ((16384,), "float32")),
                (((32, 4096), "float32"),),
                _rmsnorm_backward(32),
                warp_specialized=ws,
            )
            for ws in (True, False)
        ),
        Case(
            "absmax_scale",
            "absmax_scale",
            (1 << 20, 128, 32, 128, "float16"),
            (((1 << 20, 128), "float16"),),
            (((1 << 20,), "float32"),),
            _absmax,
        ),
        Case(
            "smallest_4",
            "smallest",
            (16384, 2048, 4, 128),
            (((16384, 2048), "float32"),),
            (((16384, 4), "float32"),),
            _smallest(4),
        ),
        *(
            Case(
                f"outer_product_4x4{name}",
                "outer_product",
                (blocks, k, 128, 128),
                (((blocks * k, 4), "float32"), ((blocks * k, 4), "float32")),
                (((blocks, 4, 4), "float32"),),
                _outer(blocks),
            )
            for name, blocks, k in (("", 1024, 4096), ("_short", 8192, 256))
        ),
        Case(
            "two_widths",
            "two_widths",
            (1 << 20, 64, 128),
            (((1 << 20, 8), "float32"), ((1 << 20, 16), "float32")),
            (((1 << 20,), "float32"),),
            _both_sums,
        ),
    ]


def _latency() -> list[Case]:
    return [
        Case(
            f"block_sum_{n}_{blocks}",
            "block_sum",
            (blocks, n, threads),
            (((blocks, n), "float32"),),
            (((blocks,), "float32"),),
            _row_sum,
        )
        for blocks, n, threads in ((132, 256, 128), (132, 1024, 256), (4096, 256, 128))
    ]


def all_cases() -> list[Case]:
    """Every row, in the order of the table."""
    return [*_rows(), *_latency(), *_streaming()]
