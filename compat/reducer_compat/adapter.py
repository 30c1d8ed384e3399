"""Everything that differs between TileLang releases; no other module asks for a version.

A feature is asked for by its presence where that is possible. The facts behind the version
checks were established on the wheels from 0.1.8 to 0.1.15.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from reducer_compat.broken import diagnose, tested_range
from reducer_compat.errors import UnsupportedTileLangError
from reducer_rules.release import NATIVE_V2, TESTED, Release

#: How to go on without this package.
WAY_OUT = "set REDUCER_COMPAT=off to go on without reducer_compat"
#: The first TileLang pass of every pipeline, on all releases, that sees thread bindings.
FIRST_PASS = "AddWrapperForSingleBufStore"
#: The one that tells warps apart from 0.1.9 on, on targets with tensor copies.
SPECIALIZE_PASS = "ProducerConsumerWarpSpecialized"
INFERENCE_PASS = "LayoutInference"
LOWER_PASS = "LowerTileOp"
FLATTEN_PASS = "FlattenBuffer"
HOIST_PASS = "HoistIfThenElse"
#: The first pass that finds device functions with their barriers and merged shared memory.
LAST_PASS = "MakePackedAPI"
#: Modules that hold a name of the language surface, oldest spelling first.
SURFACE_MODULES = ("tilelang.language", "tilelang.language.common")


def _import_tilelang() -> Any:
    try:
        import tilelang
        from tilelang import tvm  # noqa: F401
    except Exception as error:
        found = diagnose(error)
        raise UnsupportedTileLangError(
            "RC001",
            f"TileLang cannot be imported: {found.cause}",
            fix=f"{found.remedy}, or {WAY_OUT}",
        ) from error
    return tilelang


@dataclass(frozen=True, slots=True)
class Adapter:
    """The handles of one TileLang: its TIR namespace and the statements it is made of."""

    release: Release
    tilelang: ModuleType
    tvm: ModuleType
    tir: ModuleType
    block: Any
    block_realize: Any

    @property
    def native_v2(self) -> bool:
        """Whether TileLang lowers v2 reducers itself."""
        return self.release >= NATIVE_V2

    @property
    def tvm_transforms(self) -> Any:
        """Where TVM has the passes on schedulable TIR that TileLang's pipelines call."""
        return getattr(self.tvm, "s_tir", self.tir).transform

    def home(self, name: str) -> Any:
        """The module where TileLang's pipelines look a pass up; None where it has none of it."""
        import tilelang.transform as transform

        cuda = getattr(getattr(self.tilelang, "cuda", None), "transform", None)
        homes = (transform, cuda, self.tvm_transforms)
        return next((home for home in homes if hasattr(home, name)), None)

    @property
    def pipelines_late(self) -> bool:
        """Whether tile operations are lowered first, and pipelines are made after that: tiles get
        their stages, loops their prologues, and warps their roles."""
        return self.release < _release("0.1.9")

    @property
    def loses_barriers(self) -> bool:
        """Whether a barrier is moved out of a branch whose condition loads memory, and lost."""
        return self.release < _release("0.1.9")

    @property
    def shifts_threads(self) -> bool:
        """Whether spreading a loop changes the thread indices in its body, as to 0.1.12."""
        return self.release < _release("0.1.13")

    @property
    def waits_by_stages(self) -> bool:
        """Whether a pipeline waits as if each of its stages committed one group of copies."""
        return _release("0.1.9") <= self.release < _release("0.1.12")

    @property
    def copies_elements(self) -> bool:
        """Whether elements of any size are copied asynchronously, one by one."""
        return _release("0.1.9") <= self.release < _release("0.1.12")

    @property
    def forgets_arrivals(self) -> bool:
        """Whether nobody arrives at the barrier of a warp-specialized bulk copy."""
        return _release("0.1.9") <= self.release < _release("0.1.13")

    @property
    def stores_in_bulk(self) -> bool:
        """Whether a row is stored in bulk on sm_90, even if it is too short or not aligned."""
        return self.release < _release("0.1.13")

    @property
    def interleaves_stages(self) -> bool:
        """Whether the stages of a tile that is copied in boxes are read in another order."""
        return _release("0.1.9") <= self.release < _release("0.1.12")

    @property
    def pairs_halves(self) -> bool:
        """Whether CUDA code for two 16-bit floats at once uses the instructions for it.

        0.1.8 writes one operation for each of them.
        """
        return self.release >= _release("0.1.9")

    def thread_shift(self, layout: Any) -> int:
        """What spreading a loop of this layout takes off every thread index in its body.

        Where it does, the first thread of the layout: under warp specialization, of the consumers.
        """
        if not self.shifts_threads:
            return 0
        found = re.search(r"thread_range: I.Range\((\d+)", repr(layout))
        return int(found[1]) if found else 0

    @property
    def partitions_stores_alone(self) -> bool:
        """Whether a `T.Parallel` loop that stores to no shared buffer runs whole in each thread.

        So it is in 0.1.9 and 0.1.10, whatever layout the loop has; before, loads count too, and
        after, accesses of fragments. A pointer to a shared buffer counts as a store.
        """
        return _release("0.1.9") <= self.release < _release("0.1.11")

    @property
    def family(self) -> str:
        """What the names of the classes and operators of TIR begin with."""
        return self.tir.__name__.rsplit(".", 1)[-1]

    def op(self, name: str) -> Any:
        """A builtin operator of TIR, for instance `call_extern`."""
        return self.tvm.ir.Op.get(f"{self.family}.{name}")

    def simplify(self, expr: Any) -> Any:
        """An expression of integers, simplified without knowing anything about its variables."""
        if not hasattr(_THREAD, "analyzer"):
            _THREAD.analyzer = self.tvm.arith.Analyzer()
        return _THREAD.analyzer.simplify(expr)

    def for_loop(self, template: Any, **changes: Any) -> Any:
        """A copy of a `For` with some of its fields changed."""
        fields = _fields(template, _FOR_FIELDS, changes)
        return self.tir.For(*fields, span=getattr(template, "span", None))

    def block_copy(self, template: Any, **changes: Any) -> Any:
        """A copy of a block with some of its fields changed."""
        fields = _fields(template, _BLOCK_FIELDS, changes)
        return self.block(*fields, span=getattr(template, "span", None))

    def with_body(self, func: Any, body: Any) -> Any:
        """A `PrimFunc` with another body, which is as pure as the one before.

        Its constructor looks through the whole body to tell that, and `with_body` calls it.
        """
        fields = {name: getattr(func, name) for name in _FUNC_FIELDS}
        kind = f"{self.family}.PrimFunc"
        return self.tvm.ir.make_node(kind, body=body, **fields)

    def target(self, kind: str, arch: str) -> Any:
        """A target in the spelling of this release: a string to 0.1.9, a dict after."""
        key = "mcpu" if kind == "hip" else "arch"
        if self.release < _release("0.1.10"):
            return self.tvm.target.Target(f"{kind} -{key}={arch}")
        return self.tvm.target.Target({"kind": kind, key: arch})

    def pipelines(self) -> tuple[tuple[Any, tuple[str, ...]], ...]:
        """Where the pipeline is called by name.

        To 0.1.10 two functions that two modules imported, up to `LowerTileOp` and after it; from
        0.1.11 a method.
        """
        try:
            from tilelang.backend.pass_pipeline.pipeline import PassPipeline
        except ImportError:
            modules = ("tilelang.engine.lower", "tilelang.jit.adapter.utils")
            halves = ("LowerAndLegalize", "OptimizeForTarget")
            return tuple((import_module(name), halves) for name in modules)
        return ((PassPipeline, ("lower",)),)

    def evaluate(self, call: Any) -> None:
        """Add an expression as a statement to the kernel being traced."""
        import tilelang.language as language

        language.evaluate(call)

    def fragment(self, shape: Any, thread: Any, index: Any) -> Any:
        """A layout from functions of the loop variables to a thread and to an index."""
        from tilelang.layout import Fragment

        return Fragment(tuple(shape), forward_thread_fn=thread, forward_index_fn=index)

    def layout_thread(self, layout: Any) -> Any:
        """The thread expression of a `Fragment`, over the placeholders `_i`, `_j`, ..., `_rep`."""
        return layout.thread


#: A release by its name: passes ask for the same few over and over.
_release = lru_cache(Release.parse)
#: TVM's analyzer is not safe to share among threads, and slow to make.
_THREAD = threading.local()
_FOR_FIELDS = ("loop_var", "min", "extent", "kind", "body", "thread_binding", "annotations")
#: Of a function, all but its body.
_FUNC_FIELDS = ("params", "ret_type", "buffer_map", "attrs", "struct_info_", "span")
_BLOCK_FIELDS = (
    "iter_vars",
    "reads",
    "writes",
    "name_hint",
    "body",
    "init",
    "alloc_buffers",
    "match_buffers",
    "annotations",
)


def _release_of(tilelang: ModuleType) -> Release:
    text = str(getattr(tilelang, "__version__", "unknown"))
    try:
        release = Release.parse(re.split(r"[+]", text)[0])
    except ValueError:
        release = None
    if release is None or release not in TESTED:
        raise UnsupportedTileLangError(
            "RC001",
            f"reducer_compat was tested on TileLang {tested_range()}; this is {text}",
            fix=f"install a tested TileLang, or {WAY_OUT}",
        )
    return release


@lru_cache(maxsize=1)
def adapter() -> Adapter:
    """The adapter of the installed TileLang.

    Raises:
        UnsupportedTileLangError: TileLang is missing, broken, or outside the tested range.
    """
    tilelang = _import_tilelang()
    release = _release_of(tilelang)
    tvm = tilelang.tvm
    tir = tvm.tirx if hasattr(tvm, "tirx") else tvm.tir
    suffix = "SBlock" if hasattr(tir, "SBlock") else "Block"
    return Adapter(
        release=release,
        tilelang=tilelang,
        tvm=tvm,
        tir=tir,
        block=getattr(tir, suffix),
        block_realize=getattr(tir, f"{suffix}Realize"),
    )


def _fields(template: Any, names: tuple[str, ...], changes: dict[str, Any]) -> list[Any]:
    """The fields of a statement, some of them changed."""
    return [changes[name] if name in changes else getattr(template, name) for name in names]
