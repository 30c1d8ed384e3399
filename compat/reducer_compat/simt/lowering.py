"""TileLang source to device TIR, on every release.

All that the interpreter knows of releases is here.

| release | TIR namespace | targets |
|---|---|---|
| 0.1.8, 0.1.9 | `tir` | strings, `cuda -arch=sm_75`; the wheels generate no HIP |
| 0.1.10 and later | `tirx` | dicts, `{"kind": "cuda", "arch": "sm_75"}`, and HIP |
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from .report import SimtError

DEFAULT_ARCH = "sm_75"
#: For kernels with `T.gemm`: for sm_75 TileLang loads 8 halves into the 4 of a thread's `A_local`,
#: and 4 into each 2 of `B_local` (`ptx_ldmatrix_x4` and `_x2` beside products of 16x8x8).
GEMM_ARCH = "sm_80"
_DL_CUDA, _DL_ROCM = 2, 10
_FIRST_TIRX = Version("0.1.10")
_FIRST_STRICT_ALLREDUCE = Version("0.1.13")
_FIRST_STRICT_SCALE = Version("0.1.15")


@dataclass(frozen=True)
class Tir:
    """The TIR namespace of the installed TileLang."""

    module: Any
    release: Version

    def op_name(self, call: Any) -> str:
        """The name of a call's op without its namespace: `exp`, `tl.tma_load`, `call_extern`."""
        name = str(getattr(call.op, "name", None) or getattr(call.op, "name_hint", call.op))
        return name.split(".", 1)[1] if name.startswith(("tir.", "tirx.", "s_tir.")) else name

    def nodes(self, root: Any) -> list[Any]:
        """Every node of a statement or an expression, inner ones first."""
        # Collected first: an exception inside TVM's visitor would come out wrapped.
        found: list[Any] = []
        self.module.stmt_functor.post_order_visit(root, found.append)
        return found

    def const(self, value: int) -> Any:
        """An int32 literal."""
        return self.module.IntImm("int32", value)

    def simplify(self, expr: Any) -> Any:
        """A constant expression as a literal."""
        from tilelang import tvm

        return tvm.arith.Analyzer().simplify(expr)

    @property
    def strict_allreduce(self) -> bool:
        """Whether `tl::AllReduce` asserts that its width is a power of two."""
        return self.release >= _FIRST_STRICT_ALLREDUCE

    @property
    def strict_scale(self) -> bool:
        """Whether `tl::AllReduce` asserts that its stride is a power of two."""
        return self.release >= _FIRST_STRICT_SCALE


@dataclass(frozen=True)
class Device:
    """What a target's hardware and device library are like.

    `warp` is the number of lanes that shuffle together: 32 on CUDA and RDNA, 64 on CDNA (`gfx9`).
    `hip` says whether `tl::` functions are those of TileLang's HIP templates.
    """

    warp: int = 32
    hip: bool = False

    @property
    def code(self) -> int:
        """The device type of a DLPack tensor."""
        return _DL_ROCM if self.hip else _DL_CUDA


CUDA = Device()


@dataclass(frozen=True)
class Lowered:
    """A kernel as TileLang hands it to code generation.

    `source` is the TileLang function (its parameters and their buffers), `host` the function that
    checks the arguments and launches, `device` the kernels by name, `on` what runs them. `text` is
    the CUDA or HIP source that TileLang generates from them.
    """

    source: Any
    host: Any
    device: Mapping[str, Any]
    tir: Tir
    on: Device
    text: str


def installed() -> tuple[Any, Any, Tir]:
    """The `tilelang` and `tvm` modules and the TIR namespace.

    Raises SimtError when TileLang is not installed.
    """
    try:
        import tilelang
        from tilelang import tvm
    except ImportError as error:
        raise SimtError(
            f"simt runs TileLang kernels and needs tilelang (pip install tilelang): {error}"
        ) from error
    release = Version(str(tilelang.__version__))
    namespace = tvm.tirx if release >= _FIRST_TIRX else tvm.tir
    return tilelang, tvm, Tir(namespace, Version(release.base_version))


def resolve_target(tvm: Any, tir: Tir, target: Any) -> Any:
    """A TVM target from an architecture (`sm_90`, `gfx942`), or TileLang's own."""
    if isinstance(target, str) and target.startswith(("sm_", "gfx")):
        return tvm.target.Target(_spelled(tir, target))
    return target if isinstance(target, tvm.target.Target) else tvm.target.Target(target)


def default_arch(tir: Tir, source: Any) -> str:
    """The plainest architecture that a kernel is right on."""
    found = False

    def look(node: Any) -> None:
        nonlocal found
        found = found or "tileop.gemm" in str(getattr(getattr(node, "op", None), "name", ""))

    tir.module.stmt_functor.post_order_visit(source.body, look)
    return GEMM_ARCH if found else DEFAULT_ARCH


def _spelled(tir: Tir, arch: str) -> Any:
    kind, key = ("hip", "mcpu") if arch.startswith("gfx") else ("cuda", "arch")
    return {"kind": kind, key: arch} if tir.release >= _FIRST_TIRX else f"{kind} -{key}={arch}"


def lower(func: Any, target: Any = None, pass_configs: Mapping[Any, Any] | None = None) -> Lowered:
    """Lowers a TileLang PrimFunc (or a compiled kernel that holds one) down to device TIR.

    Raises whatever TileLang raises when it cannot lower the kernel.
    """
    tilelang, tvm, tir = installed()
    source = getattr(func, "prim_func", func)
    if not isinstance(source, tir.module.PrimFunc):
        raise SimtError(
            f"simt takes a PrimFunc, as tilelang.compile does, and got {type(func).__name__}: "
            "for a @tilelang.jit function pass fn.get_tir(...)"
        )
    chosen = resolve_target(tvm, tir, default_arch(tir, source) if target is None else target)
    config = {str(getattr(k, "value", k)): v for k, v in (pass_configs or {}).items()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(tvm.transform.PassContext(opt_level=3, config=config))
        stack.enter_context(chosen)
        artifact = tilelang.lower(source, target=chosen)
    host = [f for f in artifact.host_mod.functions.values() if isinstance(f, tir.module.PrimFunc)]
    device = {str(v.name_hint): f for v, f in artifact.device_mod.functions.items()}
    text = str(artifact.kernel_source)
    return Lowered(source, _entry(host), device, tir, device_of(chosen), text)


def device_of(target: Any) -> Device:
    """What a TVM target stands for."""
    if str(target.kind.name) == "hip":
        wide = str(target.attrs.get("mcpu", "")).startswith("gfx9")
        return Device(64 if wide else 32, hip=True)
    return Device(int(target.attrs.get("thread_warp_size", 32)))


def _entry(functions: list[Any]) -> Any:
    entries = [f for f in functions if f.attrs and any(map(_is_entry, f.attrs.keys()))]
    if len(entries) != 1:
        raise SimtError(f"the lowered kernel has {len(entries)} entry points, not one")
    return entries[0]


def _is_entry(key: Any) -> bool:
    return str(key).endswith("is_entry_func")
