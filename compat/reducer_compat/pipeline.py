"""Where the passes run: around three passes of TileLang that every release has.

before AddWrapperForSingleBufStore   collect, check, plan, carry
after  LayoutInference               participants, project, guard
after  LowerTileOp                   emit, residue, registers
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer_compat import tree
from reducer_compat.adapter import FIRST_PASS, INFERENCE_PASS, LOWER_PASS, adapter
from reducer_compat.errors import ReducerError
from reducer_compat.passes.admit import admit
from reducer_compat.passes.carry import carry
from reducer_compat.passes.check import check
from reducer_compat.passes.collect import collect
from reducer_compat.passes.emit import emit
from reducer_compat.passes.guard import guard
from reducer_compat.passes.normalize import normalize
from reducer_compat.passes.participants import narrowed
from reducer_compat.passes.plan import plan
from reducer_compat.passes.project import project
from reducer_compat.passes.recognize import uses_reducers
from reducer_compat.passes.registers import share_registers
from reducer_compat.passes.residue import residue
from reducer_compat.passes.sites import find_sites, is_fragment

#: On a kernel between `carry` and `residue`.
ATTRIBUTE = "reducer_compat"


class SplicedPass:
    """A pass of TileLang with ours before or after it; kernels without reducers see only it."""

    def __init__(self, original: Any, around: Callable[[Any, Any], Any]) -> None:
        self._original = original
        self._around = around

    def __call__(self, mod: Any) -> Any:
        return self._around(self._original, mod)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def prepare(original: Any, mod: Any) -> Any:
    """Lower the markers of every kernel in `mod`, then run the first pass."""
    for name, func in _kernels(mod):
        if uses_reducers(func):
            mod = _updated(mod, name, lower_markers(func))
    return original(mod)


def lower_markers(func: Any) -> Any:
    """collect, check, plan and carry, on one kernel."""
    collected = collect(func)
    check(collected)
    func = normalize(func)
    sites = find_sites(func)
    admit(func, collected, sites)
    carried = carry(func, collected, sites, plan(collected, sites))
    return carried.with_attr(ATTRIBUTE, True)


def after_inference(original: Any, mod: Any) -> Any:
    """Run layout inference, then guard what waited for it."""
    mine = [name for name, func in _kernels(mod) if _ours(func)]
    if not mine:
        return original(mod)
    mod = _explained(original, mod, mine)
    for name in mine:
        mod = _updated(mod, name, guard(project(narrowed(mod[name]))))
    return mod


def after_lowering(original: Any, mod: Any) -> Any:
    """Run `LowerTileOp`, then write out what waited, and see that nothing is left."""
    mine = [name for name, func in _kernels(mod) if _ours(func)]
    if not mine:
        return original(mod)
    mod = _explained(original, mod, mine)
    for name in mine:
        func = share_registers(residue(emit(mod[name])))
        mod = _updated(mod, name, func.without_attr(ATTRIBUTE))
    return mod


#: What runs around which pass.
SPLICES: dict[str, Callable[[Any, Any], Any]] = {
    FIRST_PASS: prepare,
    INFERENCE_PASS: after_inference,
    LOWER_PASS: after_lowering,
}


def spliced(factory: Callable[..., Any], around: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A pass factory whose passes run `around`."""

    def make(*args: Any, **kwargs: Any) -> SplicedPass:
        return SplicedPass(factory(*args, **kwargs), around)

    make.__name__ = getattr(factory, "__name__", "make")
    make.__doc__ = factory.__doc__
    make.__wrapped__ = factory  # type: ignore[attr-defined]
    return make


def _kernels(mod: Any) -> list[tuple[Any, Any]]:
    prim_func = adapter().tir.PrimFunc
    return [(name, func) for name, func in mod.functions.items() if isinstance(func, prim_func)]


def _ours(func: Any) -> bool:
    return bool(func.attrs) and ATTRIBUTE in func.attrs


def _updated(mod: Any, name: Any, func: Any) -> Any:
    fresh = adapter().tvm.IRModule(dict(mod.functions.items()), attrs=mod.attrs)
    fresh[name] = func
    return fresh


def _explained(original: Any, mod: Any, mine: list[Any]) -> Any:
    """Run a pass of TileLang; where it fails, say for which kernel and what it was given."""
    try:
        return original(mod)
    except ReducerError:
        raise
    except Exception as error:
        kernels = ", ".join(str(name.name_hint) for name in mine)
        shapes = "; ".join(filter(None, (_fragments(mod[name]) for name in mine)))
        first = str(error).strip().splitlines()
        raise ReducerError(
            "RC003",
            f"TileLang cannot lay out the other operations of this kernel: "
            f"{first[-1] if first else error}. Fragments: {shapes}, on "
            f"{', '.join(_threads(mod[name]) for name in mine)} threads",
            kernel=kernels,
            fix="use tiles that divide among the threads, or shared memory for the fragment",
        ) from error


def _threads(func: Any) -> str:
    """The thread count of a kernel, as the launch says it."""
    extents = [
        str(stmt.value)
        for stmt in tree.walk(func.body)
        if isinstance(stmt, adapter().tir.AttrStmt)
        and stmt.attr_key == "thread_extent"
        and str(stmt.node.thread_tag) == "threadIdx.x"
    ]
    return extents[0] if extents else "unknown"


def _fragments(func: Any) -> str:
    found = []
    for stmt in tree.walk(func.body):
        if isinstance(stmt, adapter().block):
            found += [
                f"{b.name}[{', '.join(str(e) for e in b.shape)}]"
                for b in stmt.alloc_buffers
                if is_fragment(b)
            ]
    return ", ".join(found)
