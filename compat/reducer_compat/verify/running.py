"""Run one kernel on its inputs: in the interpreter, or on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducer_compat import simt

from .building import Built
from .inputs import VARIANTS, Parameter, values
from .protocol import Request, Trouble, short

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Ran:
    """The tensors that a kernel wrote, by variant and name, and the faults of the interpreter.

    `contributions` says how many there were in one run, where they were counted.
    """

    outputs: Mapping[str, Arrays]
    faults: tuple[str, ...] = ()
    contributions: int | None = None


def interpret(built: Built, parameters: tuple[Parameter, ...], request: Request) -> Ran:
    """Lower a kernel once, and run it in the interpreter on every variant of its inputs.

    Raises:
        Trouble: TileLang does not lower it, the interpreter does not know an operation of it, or
            its arguments do not fit.
    """
    try:
        lowered = simt.lower(built.prim_func, request.arch, _strings(built.pass_configs))
    except simt.SimtError as error:
        raise Trouble("unsupported", str(error)) from error
    except Exception as error:
        raise Trouble("lower", f"TileLang does not compile it: {short(error)}") from error
    outputs: dict[str, Arrays] = {}
    faults: dict[str, None] = {}
    for variant in VARIANTS:
        given = arguments(parameters, request, variant)
        try:
            result = simt.execute_lowered(lowered, *given, out_idx=None)
        except simt.UnsupportedError as error:
            raise Trouble("unsupported", str(error)) from error
        except simt.SimtError as error:
            raise Trouble("arguments", str(error)) from error
        outputs[variant] = written(parameters, given)
        faults.update(dict.fromkeys(str(fault) for fault in result.report.faults))
    return Ran(outputs, tuple(faults))


def on_gpu(built: Built, parameters: tuple[Parameter, ...], request: Request) -> Ran:
    """Compile a kernel for the GPU that torch sees, and run it on every variant of its inputs.

    Raises:
        Trouble: torch sees no GPU, or the kernel does not compile or run; of kind `device` where
            a fault of the kernel took the GPU from this process.
    """
    try:
        import torch
    except ImportError as error:
        raise Trouble("gpu", f"kernels are launched with torch: {error}") from error
    from tilelang.cache import cached

    if not torch.cuda.is_available():
        raise Trouble("gpu", "torch sees no GPU")
    own = _allocated(built.prim_func, len(parameters))
    try:
        kernel = cached(
            func=built.prim_func, out_idx=own or None, pass_configs=_strings(built.pass_configs)
        )
        return Ran({v: _launch(kernel, own, parameters, request, v) for v in VARIANTS})
    except Trouble:
        raise
    except Exception as error:
        kind = "device" if _is_lost() else "run"
        raise Trouble(kind, f"it fails on the GPU: {short(error)}") from error


def _is_lost() -> bool:
    """Whether a fault of a kernel ended what this process can do on the GPU."""
    import torch

    try:
        torch.cuda.synchronize()
    except Exception:
        return True
    return False


def _allocated(prim_func: Any, count: int) -> list[int]:
    """The positions of the tensors that an eager kernel allocates itself, with `T.empty`."""
    named = (prim_func.attrs or {}).get("tilelang_out_idx")
    named = getattr(prim_func, "out_idx_override", None) if named is None else named
    return [int(position) % count for position in named or ()]


def _launch(
    kernel: Any,
    own: list[int],
    parameters: tuple[Parameter, ...],
    request: Request,
    variant: str,
) -> Arrays:
    """Run a compiled kernel; all tensors but its own are passed, and change in place."""
    import torch

    values = zip(parameters, arguments(parameters, request, variant), strict=True)
    given = [v if p.shape is None else _tensor(v, p.dtype) for p, v in values]
    results = kernel(*[value for i, value in enumerate(given) if i not in own])
    results = results if isinstance(results, (list, tuple)) else [results]
    for position, tensor in zip(own, results, strict=False):
        given[position] = tensor
    torch.cuda.synchronize()
    return {p.name: _array(v) for p, v in zip(parameters, given, strict=True) if p.written}


def arguments(parameters: tuple[Parameter, ...], request: Request, variant: str) -> list[Any]:
    """The values of all parameters, in order; tensors are arrays that nobody else holds."""
    return [values(parameter, request.seed, variant, request.sizes) for parameter in parameters]


def written(parameters: tuple[Parameter, ...], given: list[Any]) -> Arrays:
    """What the kernel wrote, in dtypes that an archive holds."""
    return {
        parameter.name: plain(value)
        for parameter, value in zip(parameters, given, strict=True)
        if parameter.written
    }


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array in a dtype of numpy's own that holds its values exactly."""
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def _strings(configs: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(getattr(key, "value", key)): value for key, value in configs.items()}


def _tensor(array: NDArray[Any], dtype: str) -> Any:
    import torch

    wide = array.astype(np.float32) if array.dtype.kind not in "biu" else array
    names = {"float8_e4m3": "float8_e4m3fn"}
    return torch.from_numpy(wide).to(getattr(torch, names.get(dtype, dtype))).cuda()


def _array(tensor: Any) -> NDArray[Any]:
    host = tensor.detach().cpu()
    found: NDArray[Any] = (host.double() if host.is_floating_point() else host).numpy()
    return found
