"""The host side of a kernel: checks the arguments as TileLang does and finds the launches.

The lowered host function is interpreted on stand-ins for tensors, so that symbolic sizes, tensor
maps and launch sizes are what TileLang computes, not what we think they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arith import floor_divide, floor_remainder, truncate_divide, truncate_remainder
from .dtypes import Array, DType, cast, parse
from .intrinsics.tma import TensorMap
from .lowering import Lowered
from .memory import Pointer, Storage
from .report import SimtError, UnsupportedError

_TENSOR, _INT, _FLOAT = 70, 1, 3
_MAP_DTYPES = {
    0: "uint8", 1: "uint16", 2: "uint32", 3: "int32", 4: "uint64", 5: "int64",
    6: "float16", 7: "float32", 8: "float64", 9: "bfloat16", 10: "float32", 11: "float32",
    12: "float32",
}  # fmt: skip
_IGNORED_CALLS = ("__tvm_set_device", "__tvm_error_null_ptr")
_TENSOR_HEADER = 24
_DEVICE_TYPE = 10


@dataclass(frozen=True)
class Tensor:
    """An argument as the host function sees it: memory, shape and dtype; row-major."""

    storage: Storage
    shape: tuple[int, ...]
    dtype: DType

    @property
    def strides(self) -> tuple[int, ...]:
        """Row-major strides, in elements."""
        steps = [1]
        for extent in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * extent)
        return tuple(steps[: len(self.shape)])


@dataclass(frozen=True)
class Launch:
    """One kernel launch: name, arguments in order, and the launch parameters by name."""

    kernel: str
    arguments: tuple[Any, ...]
    sizes: Mapping[str, int]

    def dims(self, prefix: str) -> tuple[int, int, int]:
        """The extents of `blockIdx` or `threadIdx`."""
        x, y, z = (int(self.sizes.get(f"{prefix}.{a}", 1)) for a in "xyz")
        return x, y, z


@dataclass
class _Host:
    lowered: Lowered
    arguments: Sequence[Any]
    env: dict[Any, Any] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)


def launches(lowered: Lowered, arguments: Sequence[Any]) -> list[Launch]:
    """The launches for these arguments: `Tensor`s and numbers, in the order of the parameters.

    Raises SimtError when the arguments do not fit the kernel.
    """
    host = _Host(lowered, arguments)
    params = list(lowered.host.params)
    for param, value in zip(
        params, ("self", "args", np.int32(len(arguments)), "result"), strict=False
    ):
        host.env[param] = value
    _run(host, lowered.host.body)
    return host.launches


# -- statements -----------------------------------------------------------------------------------


def _run(host: _Host, node: Any) -> None:
    name = type(node).__name__
    runner = _STATEMENTS.get(name)
    if runner is None:
        raise UnsupportedError(f"the host statement {name}")
    runner(host, node)
    body = getattr(node, "body", None)
    if body is not None and name not in ("For", "While"):
        _run(host, body)


def _seq(host: _Host, node: Any) -> None:
    for part in node.seq:
        _run(host, part)


def _bind(host: _Host, node: Any) -> None:
    host.env[node.var] = evaluate(host, node.value)


def _if(host: _Host, node: Any) -> None:
    if evaluate(host, node.condition):
        _run(host, node.then_case)
    elif node.else_case is not None:
        _run(host, node.else_case)


def _assert(host: _Host, node: Any) -> None:
    if evaluate(host, node.condition):
        return
    parts = getattr(node, "message_parts", None)
    message = " ".join(str(p.value) for p in parts) if parts is not None else str(node.message)
    raise SimtError(f"the arguments do not fit the kernel: {message}")


def _evaluate(host: _Host, node: Any) -> None:
    evaluate(host, node.value)


def _allocate(host: _Host, node: Any) -> None:
    host.env[node.buffer_var] = None


def _nothing(host: _Host, node: Any) -> None:
    return


_STATEMENTS: dict[str, Callable[[_Host, Any], None]] = {
    "SeqStmt": _seq,
    "LetStmt": _bind,
    "Bind": _bind,
    "IfThenElse": _if,
    "AssertStmt": _assert,
    "Evaluate": _evaluate,
    "AttrStmt": _nothing,
    "DeclBuffer": _nothing,
    "Allocate": _allocate,
    "AllocBuffer": _nothing,
}


# -- expressions ----------------------------------------------------------------------------------

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Min": min, "Max": max,
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le,
    "GT": operator.gt, "GE": operator.ge, "Div": truncate_divide, "Mod": truncate_remainder,
    "FloorDiv": floor_divide, "FloorMod": floor_remainder,
}  # fmt: skip


def evaluate(host: _Host, node: Any) -> Any:
    """The value of a host expression."""
    name = type(node).__name__
    if name in _BINARY:
        return _BINARY[name](evaluate(host, node.a), evaluate(host, node.b))
    build = _EXPRESSIONS.get(name)
    if build is None:
        raise UnsupportedError(f"the host expression {name}", str(node))
    return build(host, node)


def _imm(host: _Host, node: Any) -> Any:
    return parse(str(node.dtype)).numpy.type(node.value)


def _var(host: _Host, node: Any) -> Any:
    if node not in host.env:
        raise UnsupportedError(f"the host variable {node}")
    return host.env[node]


def _cast(host: _Host, node: Any) -> Any:
    return cast(evaluate(host, node.value), parse(str(node.dtype)).numpy)


def _select(host: _Host, node: Any) -> Any:
    return evaluate(host, node.true_value if evaluate(host, node.condition) else node.false_value)


def _load(host: _Host, node: Any) -> Any:
    values, index = host.env[node.buffer.data], int(evaluate(host, node.indices[0]))
    return parse(str(node.dtype)).numpy.type(values[index])


def _call(host: _Host, node: Any) -> Any:
    name = host.lowered.tir.op_name(node)
    build = _CALLS.get(name)
    if build is None:
        raise UnsupportedError(f"the host op {name}", str(node))
    return build(host, node)


_EXPRESSIONS: dict[str, Callable[[_Host, Any], Any]] = {
    "IntImm": _imm,
    "FloatImm": _imm,
    "StringImm": lambda host, node: str(node.value),
    "Var": _var,
    "SizeVar": _var,
    "Cast": _cast,
    "Select": _select,
    "And": lambda host, node: evaluate(host, node.a) and evaluate(host, node.b),
    "Or": lambda host, node: evaluate(host, node.a) or evaluate(host, node.b),
    "Not": lambda host, node: not evaluate(host, node.a),
    "BufferLoad": _load,
    "Call": _call,
}


# -- what the host calls --------------------------------------------------------------------------


def _struct_get(host: _Host, node: Any) -> Any:
    base = evaluate(host, node.args[0])
    index, kind = int(node.args[1].value), int(node.args[2].value)
    if isinstance(base, str):
        value = _argument(host, index, kind)
    else:
        value = host.lowered.on.code if kind == _DEVICE_TYPE else _field(base, kind)
    return value if str(node.dtype) == "handle" else parse(str(node.dtype)).numpy.type(value)


def _argument(host: _Host, index: int, kind: int) -> Any:
    value = host.arguments[index]
    if kind == 13:
        return (
            _TENSOR if isinstance(value, Tensor) else _FLOAT if isinstance(value, float) else _INT
        )
    if kind in (12, 15):
        return value
    raise UnsupportedError(f"the argument field {kind}")


def _field(tensor: Tensor, kind: int) -> Any:
    if kind == 1:
        return Pointer(tensor.storage, 0, tensor.dtype.numpy)
    codes = {
        0: tensor, 2: tensor.shape, 3: tensor.strides, 4: len(tensor.shape),
        5: _type_code(tensor.dtype), 6: 8 * tensor.dtype.itemsize, 7: 1, 8: 0, 9: 0,
    }  # fmt: skip
    if kind not in codes:
        raise UnsupportedError(f"the tensor field {kind}")
    return codes[kind]


def _type_code(dtype: DType) -> int:
    kinds = {"i": 0, "u": 1, "f": 2, "b": 6}
    names = {
        "bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12,
        "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
    }  # fmt: skip
    return names.get(dtype.numpy.name, kinds.get(dtype.numpy.kind, 2))


def _call_packed(host: _Host, node: Any) -> Any:
    name, args = str(node.args[0].value), list(node.args[1:])
    if name in host.lowered.device:
        host.launches.append(_launch(host, name, args))
    elif name == "__tvm_tensormap_create_tiled":
        host.env[args[0]] = _tensor_map([evaluate(host, a) for a in args[1:]])
    elif name.startswith("__tvm_error"):
        raise SimtError("the arguments do not fit the kernel: " + _mismatch(host, name, args))
    elif name not in _IGNORED_CALLS:
        raise UnsupportedError(f"the host function {name}")
    return np.int32(0)


def _mismatch(host: _Host, name: str, args: list[Any]) -> str:
    what = name.removeprefix("__tvm_error_").replace("_", " ")
    return f"{what}: " + " ".join(str(evaluate(host, a)) for a in args)


def _launch(host: _Host, name: str, args: list[Any]) -> Launch:
    func = host.lowered.device[name]
    values = [evaluate(host, a) for a in args]
    count = len(func.params)
    keys = next(v for k, v in func.attrs.items() if str(k).endswith("kernel_launch_params"))
    sizes = {str(k): int(v) for k, v in zip(keys, values[count:], strict=False)}
    return Launch(name, tuple(values[:count]), sizes)


def _tensor_map(args: list[Any]) -> TensorMap:
    code, rank, pointer = int(args[0]), int(args[1]), args[2]
    numbers = [int(a) for a in args[3:]]
    dims, strides, box, steps = (tuple(numbers[i * rank : (i + 1) * rank]) for i in range(4))
    interleave, swizzle = numbers[4 * rank], numbers[4 * rank + 1]
    if interleave or any(s != 1 for s in steps) or code not in _MAP_DTYPES:
        raise UnsupportedError("a tensor map with interleaving, element strides or a packed dtype")
    return TensorMap(pointer, parse(_MAP_DTYPES[code]), dims, strides, box, swizzle)


def _offset(host: _Host, node: Any) -> Any:
    # The type tag of a tensor argument is followed by its header, then by what we stand in for.
    base, offset = evaluate(host, node.args[0]), int(evaluate(host, node.args[1]))
    if isinstance(base, Tensor) and offset == _TENSOR_HEADER:
        return base
    return base.shifted(offset)


def _if_then_else(host: _Host, node: Any) -> Any:
    return evaluate(host, node.args[1] if evaluate(host, node.args[0]) else node.args[2])


_CALLS: dict[str, Callable[[_Host, Any], Any]] = {
    "tvm_struct_get": _struct_get,
    "isnullptr": lambda host, node: np.bool_(evaluate(host, node.args[0]) is None),
    "handle_add_byte_offset": _offset,
    "if_then_else": _if_then_else,
    "tvm_call_packed": _call_packed,
    "call_packed": _call_packed,
    "tvm_call_packed_lowered": _call_packed,
    "tvm_stack_alloca": lambda host, node: None,
    "ret": lambda host, node: None,
    "likely": lambda host, node: evaluate(host, node.args[0]),
}


def as_tensor(name: str, array: Array, dtype: DType, written: bool) -> Tensor:
    """An argument made of a numpy array; unwritten memory of its size where `written` is false."""
    flat = np.ascontiguousarray(array) if written else None
    storage = Storage(name, "global", 1, int(array.size) * dtype.itemsize, flat)
    storage.read_only = written and not array.flags.writeable
    return Tensor(storage, tuple(int(s) for s in array.shape), dtype)
