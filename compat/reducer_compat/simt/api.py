"""The entry points: run a TileLang kernel on numpy arrays, and say what was found."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .compile import compile_function
from .dtypes import Array, is_float, parse
from .host import Launch, Tensor, as_tensor, launches
from .lowering import Lowered, Tir, lower
from .machine import Machine
from .program import Program
from .report import Fault, Findings, Report, SimtError

LANES_AT_ONCE = 1 << 16
"""Threads that run together, unless one block has more: bounds memory, changes no result."""

BYTES_AT_ONCE = 1 << 29
"""Bytes of the memory of blocks that run together, unless one block needs more."""


@dataclass(frozen=True)
class Result:
    """The outputs of a run, in the order of `out_idx`, and what it found."""

    outputs: tuple[Array, ...]
    report: Report


def run(
    func: Any,
    *arrays: Any,
    out_idx: int | Sequence[int] | None = -1,
    target: Any = None,
    pass_configs: Mapping[Any, Any] | None = None,
    starve: bool = False,
) -> Any:
    """Lowers a kernel, runs it on numpy arrays, and returns its output array (or a tuple of them).

    `func` is a PrimFunc, as `tilelang.compile` takes. `arrays` are the other arguments in order:
    arrays of the declared shapes and dtypes (bfloat16 and float8 through ml_dtypes), and numbers.
    `out_idx` names the parameters that the kernel fills; with None all are passed and those that
    it writes change in place. `target` is None (sm_75, or sm_80 for a kernel with `T.gemm`), an
    architecture (`sm_90`, `gfx942`), or a TileLang target; `pass_configs` as for
    `tilelang.compile`. With `starve` the report holds `lapped-wait` faults, too: waits at an
    mbarrier that a warp which is late never comes out of, since the barrier went on without it.

    Raises SimtError with the `report` when the run finds a fault, UnsupportedError for what the
    interpreter does not know, and SimtError for arguments that do not fit.
    """
    result = execute(
        func, *arrays, out_idx=out_idx, target=target, pass_configs=pass_configs, starve=starve
    )
    if not result.report.ok:
        raise SimtError(str(result.report), result.report)
    if out_idx is None:
        return None
    return result.outputs[0] if isinstance(out_idx, int) else result.outputs


def execute(
    func: Any,
    *arrays: Any,
    out_idx: int | Sequence[int] | None = -1,
    target: Any = None,
    pass_configs: Mapping[Any, Any] | None = None,
    starve: bool = False,
) -> Result:
    """As `run`, but a fault does not raise: returns the outputs together with the report.

    Memory that nothing wrote reads as NaN in floats and as all bits set in integers.
    """
    lowered = lower(func, target, pass_configs)
    return execute_lowered(lowered, *arrays, out_idx=out_idx, starve=starve)


def execute_lowered(
    lowered: Lowered,
    *arrays: Any,
    out_idx: int | Sequence[int] | None = -1,
    starve: bool = False,
) -> Result:
    """As `execute`, on a kernel that was lowered before: lower once, run on many inputs."""
    start = time.perf_counter()
    outs = _out_positions(len(lowered.source.params), out_idx)
    arguments = _arguments(lowered, arrays, outs)
    findings, totals = Findings(), [0, 0, 0]
    with np.errstate(all="ignore"):
        for launch in launches(lowered, arguments):
            _launch(lowered, launch, findings, totals, starve)
    outputs = tuple(_output(lowered.tir, arguments[i], findings) for i in outs)
    _write_back(arrays, arguments, outs)
    report = Report(findings.faults(), totals[0], totals[1], totals[2], time.perf_counter() - start)
    return Result(outputs, report)


# -- arguments ------------------------------------------------------------------------------------


def _out_positions(count: int, out_idx: int | Sequence[int] | None) -> list[int]:
    wanted = [] if out_idx is None else [out_idx] if isinstance(out_idx, int) else list(out_idx)
    for index in wanted:
        if not -count <= index < count:
            raise SimtError(f"out_idx {index} is not one of the kernel's {count} parameters")
    return [i % count for i in wanted]


def _arguments(lowered: Lowered, arrays: Sequence[Any], outs: list[int]) -> list[Any]:
    params = list(lowered.source.params)
    if len(arrays) != len(params) - len(outs):
        raise SimtError(
            f"the kernel takes {len(params) - len(outs)} arguments besides its outputs, "
            f"and got {len(arrays)}"
        )
    given = iter(arrays)
    values = {i: next(given) for i in range(len(params)) if i not in outs}
    sizes: dict[Any, int] = {}
    found: dict[int, Any] = {}
    for i, value in values.items():
        found[i] = _argument(lowered, params[i], value, sizes)
    for i in outs:
        found[i] = _make_output(lowered, params[i], sizes)
    return [found[i] for i in range(len(params))]


def _argument(lowered: Lowered, param: Any, value: Any, sizes: dict[Any, int]) -> Any:
    if param not in lowered.source.buffer_map:
        sizes[str(param.name)] = value
        return float(value) if is_float(parse(str(param.dtype)).numpy) else int(value)
    buffer = lowered.source.buffer_map[param]
    dtype, array = parse(str(buffer.dtype)), np.asarray(value)
    if array.dtype != dtype.numpy:
        raise SimtError(
            f"argument {buffer.name} has dtype {array.dtype}, "
            f"and the kernel declares {buffer.dtype}"
        )
    _match_shape(buffer, array, sizes)
    return as_tensor(str(buffer.name), array, dtype, written=True)


def _match_shape(buffer: Any, array: Array, sizes: dict[Any, int]) -> None:
    declared = [int(s) if hasattr(s, "value") else str(s) for s in buffer.shape]
    fits = len(declared) == array.ndim
    for want, have in zip(declared, array.shape, strict=False):
        known = (
            sizes.setdefault(want, have) if isinstance(want, str) and want.isidentifier() else want
        )
        fits = fits and (known == have or isinstance(known, str))
    if not fits:
        shape = ", ".join(map(str, declared))
        raise SimtError(
            f"argument {buffer.name} has shape {array.shape}, and the kernel declares ({shape})"
        )


def _make_output(lowered: Lowered, param: Any, sizes: dict[Any, int]) -> Tensor:
    buffer = lowered.source.buffer_map.get(param)
    if buffer is None:
        raise SimtError(f"out_idx names {param}, which is no tensor")
    shape = [_extent(lowered, s, sizes, buffer) for s in buffer.shape]
    dtype = parse(str(buffer.dtype))
    return as_tensor(
        str(buffer.name), np.broadcast_to(dtype.numpy.type(0), shape), dtype, written=False
    )


def _extent(lowered: Lowered, extent: Any, sizes: dict[Any, int], buffer: Any) -> int:
    free: dict[Any, Any] = {}
    module = lowered.tir.module
    for node in lowered.tir.nodes(extent):
        if isinstance(node, module.Var):
            if str(node.name) not in sizes:
                raise SimtError(
                    f"the shape of output {buffer.name} needs {node.name}, which no argument gives"
                )
            free[node] = module.IntImm(str(node.dtype), sizes[str(node.name)])
    value = module.stmt_functor.substitute(extent, free) if free else extent
    return int(lowered.tir.simplify(value))


def _output(tir: Tir, tensor: Tensor, findings: Findings) -> Array:
    missing = tensor.storage.unwritten(tensor.dtype.itemsize)
    if len(missing):
        where = np.unravel_index(int(missing[0]), tensor.shape)
        index = ", ".join(str(int(i)) for i in where)
        name, count = tensor.storage.name, int(np.prod(tensor.shape))
        text = f"{len(missing)} of its {count} elements were never written, {name}[{index}] first"
        findings.add(
            -1 - id(tensor),
            Fault("unwritten-output", text, f"output {tensor.storage.name}", None, None),
        )
    values = tensor.storage.values(tensor.dtype.numpy)
    return np.array(values.reshape(tensor.shape))


def _write_back(arrays: Sequence[Any], arguments: list[Any], outs: list[int]) -> None:
    passed = [a for i, a in enumerate(arguments) if i not in outs]
    for array, argument in zip(arrays, passed, strict=True):
        if isinstance(argument, Tensor) and argument.storage.dirty:
            np.copyto(
                np.asarray(array),
                argument.storage.values(argument.dtype.numpy).reshape(argument.shape),
            )


# -- launches -------------------------------------------------------------------------------------


def _launch(
    lowered: Lowered, launch: Launch, findings: Findings, totals: list[int], starve: bool
) -> None:
    program = compile_function(lowered.device[launch.kernel], lowered.tir, lowered.on)
    grid, dims = launch.dims("blockIdx"), launch.dims("threadIdx")
    blocks, threads = int(np.prod(grid)), int(np.prod(dims))
    totals[0] += blocks
    totals[1] = threads
    for slot, value in zip(program.params, launch.arguments, strict=True):
        program.initial_env[slot] = value
    for chunk in _chunks(program, blocks, threads):
        machine = Machine(program, grid, dims, chunk, findings, lowered.on.warp, starve)
        machine.run()
        totals[2] += machine.steps


def _chunks(program: Program, blocks: int, threads: int) -> list[range]:
    most = min(LANES_AT_ONCE // threads, BYTES_AT_ONCE // max(program.footprint(threads), 1))
    size = blocks if program.whole_grid else max(most, 1)
    return [range(first, min(first + size, blocks)) for first in range(0, blocks, size)]


__all__ = ["BYTES_AT_ONCE", "LANES_AT_ONCE", "Result", "execute", "execute_lowered", "run"]
